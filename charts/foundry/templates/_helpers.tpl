{{/* Labels of everything that this release makes. */}}
{{- define "foundry.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{/* Labels that select the pods of one part: they never change. Takes root and part. */}}
{{- define "foundry.selector" -}}
app.kubernetes.io/name: {{ .root.Chart.Name }}
app.kubernetes.io/instance: {{ .root.Release.Name | quote }}
app.kubernetes.io/component: {{ .part }}
{{- end }}

{{/* The API is found by this name: harnesses and their network policy know it (NET-02). A
     release without agents is called as it was named. */}}
{{- define "foundry.apiName" -}}
{{- if .Values.agentRuntime }}foundry-api{{ else }}{{ .Release.Name }}{{ end }}
{{- end }}

{{/* An image. Takes root and image. */}}
{{- define "foundry.image" -}}
{{- $repository := .image.repository -}}
{{- with .root.Values.image.registry }}{{ $repository = printf "%s/%s" (trimSuffix "/" .) $repository }}{{ end -}}
{{- if .image.digest -}}
{{ $repository }}@{{ .image.digest }}
{{- else -}}
{{ $repository }}:{{ .image.tag | default .root.Chart.AppVersion }}
{{- end -}}
{{- end }}

{{/* WORK-02, WORK-03: the image of harnesses. Takes root, given and repository. */}}
{{- define "foundry.harnessImage" -}}
{{- if .given }}{{ .given }}{{ else -}}
{{- include "foundry.image" (dict "root" .root "image" (dict "repository" .repository)) -}}
{{- end -}}
{{- end }}

{{/* `key=value` of a map of one. */}}
{{- define "foundry.pair" -}}
{{- range $key, $value := . }}{{ $key }}={{ $value }}{{ end -}}
{{- end }}

{{/* A variable, where it has a value. Takes name and value. */}}
{{- define "foundry.variable" -}}
{{- if .value }}
- name: {{ .name }}
  value: {{ .value | toString | quote }}
{{- end }}
{{- end }}

{{/* The Secrets whose files the API reads: folder, Secret, key and the variable that names
     the file. */}}
{{- define "foundry.apiSecrets" -}}
{{- with .Values.api }}
- {folder: service-token, secret: {{ .serviceToken.existingSecret | quote }}, key: {{ .serviceToken.key | quote }}, variable: FOUNDRY_SERVICE_TOKEN_FILE}
- {folder: documents, secret: {{ .documents.existingSecret | quote }}, key: {{ .documents.key | quote }}, variable: FOUNDRY_FILE_STORAGE_KEY_FILE}
- {folder: broker, secret: {{ .broker.existingSecret | quote }}, key: {{ .broker.key | quote }}, variable: FOUNDRY_BROKER_TOKEN_FILE}
{{- end }}
{{- end }}

{{/* What the pods of operator and API have in common. Takes root and part (the values). */}}
{{- define "foundry.pod" -}}
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile: {type: RuntimeDefault}
{{- with .root.Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . | quote }}
  {{- end }}
{{- end }}
{{- with .part.priorityClassName }}
priorityClassName: {{ . | quote }}
{{- end }}
{{- with .part.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .part.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .part.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .part.topologySpreadConstraints }}
topologySpreadConstraints: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* What their containers may not do. */}}
{{- define "foundry.confined" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}

{{/* Probes of the paths that operator and API share. Takes the name of the port. */}}
{{- define "foundry.probes" -}}
startupProbe:
  httpGet: {path: /livez, port: {{ . }}}
  periodSeconds: 2
  failureThreshold: 60
livenessProbe:
  httpGet: {path: /livez, port: {{ . }}}
  periodSeconds: 10
  timeoutSeconds: 3
readinessProbe:
  httpGet: {path: /readyz, port: {{ . }}}
  periodSeconds: 5
  timeoutSeconds: 3
{{- end }}

{{/* Whether several APIs can run at once: none of what they keep is one pod's own. */}}
{{- define "foundry.apiIsShared" -}}
{{- $api := .Values.api -}}
{{- $volume := or (not $api.persistence.enabled) (has "ReadWriteMany" $api.persistence.accessModes) -}}
{{- $documents := or $api.documents.account $api.persistence.enabled -}}
{{- if or (not .Values.agentRuntime) (and $api.database.existingSecret $volume $documents) }}true{{ end -}}
{{- end }}
