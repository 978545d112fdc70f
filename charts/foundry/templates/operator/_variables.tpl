{{/* The settings of the operator; docs/settings.md says what each means. */}}
{{- define "foundry.operatorVariables" -}}
{{- $coding := dict "root" . "given" .Values.harnessCodingImage "repository" "foundry-harness-coding" -}}
{{- $think := dict "root" . "given" .Values.harnessImage "repository" "foundry-harness" -}}
- name: FOUNDRY_RUNTIME
  value: cluster
- name: FOUNDRY_OPERATOR_LISTEN
  value: 0.0.0.0:8081
- name: FOUNDRY_LEASE_NAMESPACE
  value: {{ .Release.Namespace | quote }}
- name: FOUNDRY_API_URL
  value: http://foundry-api.{{ .Release.Namespace }}:8080
- name: FOUNDRY_HARNESS_IMAGE
  value: {{ include "foundry.harnessImage" $think | quote }}
- name: FOUNDRY_HARNESS_CODING_IMAGE
  value: {{ include "foundry.harnessImage" $coding | quote }}
{{- with .Values.agentRuntime }}
- name: FOUNDRY_WATCH_NAMESPACES
  value: {{ join "," .namespaces | quote }}
{{- include "foundry.variable" (dict "name" "FOUNDRY_ENVIRONMENT" "value" .environment) }}
{{- include "foundry.variable" (dict "name" "FOUNDRY_AGENT_NODE_SELECTOR" "value" (include "foundry.pair" .nodeSelector)) }}
{{- include "foundry.variable" (dict "name" "FOUNDRY_AGENT_TOLERATION" "value" (include "foundry.pair" .toleration)) }}
{{- include "foundry.variable" (dict "name" "FOUNDRY_EVALUATE_SECONDS" "value" .evaluateSeconds) }}
{{- include "foundry.variable" (dict "name" "FOUNDRY_HEARTBEAT_SECONDS" "value" .heartbeatSeconds) }}
{{- include "foundry.variable" (dict "name" "FOUNDRY_RESULT_GRACE_SECONDS" "value" .resultGraceSeconds) }}
{{- end }}
{{- with .Values.networkPolicy }}
- name: FOUNDRY_NETWORK_POLICIES
  value: {{ .enabled | quote }}
{{- include "foundry.variable" (dict "name" "FOUNDRY_NETWORK_DNS_PORT" "value" .dnsPort) }}
{{- include "foundry.variable" (dict "name" "FOUNDRY_NETWORK_DNS_ADDRESSES" "value" (join "," .dnsAddresses)) }}
{{- include "foundry.variable" (dict "name" "FOUNDRY_NETWORK_CODING_EXCEPT" "value" (join "," .codingExcept)) }}
{{- end }}
{{- with .Values.operator.people }}
{{- if .existingSecret }}
{{- include "foundry.variable" (dict "name" "FOUNDRY_PEOPLE_URL" "value" .url) }}
- name: FOUNDRY_PEOPLE_TOKEN_FILE
  value: /etc/foundry/people/{{ .key }}
{{- end }}
{{- end }}
{{- include "foundry.variable" (dict "name" "FOUNDRY_LOG" "value" .Values.operator.log) }}
{{- end }}
