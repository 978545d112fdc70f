{{/* The settings of the API; docs/settings.md says what each means. */}}
{{- define "foundry.apiVariables" -}}
- name: FOUNDRY_WATCH_NAMESPACES
  value: {{ join "," .Values.agentRuntime.namespaces | quote }}
- name: FOUNDRY_API_LISTEN
  value: 0.0.0.0:8080
- name: FOUNDRY_DATA_DIR
  value: /var/lib/foundry
{{- range include "foundry.apiSecrets" . | fromYamlArray }}
{{- if .secret }}
- name: {{ .variable }}
  value: /etc/foundry/{{ .folder }}/{{ .key }}
{{- end }}
{{- end }}
{{- with .Values.api }}
{{- if .database.existingSecret }}
- name: FOUNDRY_DATABASE_URL
  valueFrom:
    secretKeyRef: {name: {{ .database.existingSecret | quote }}, key: {{ .database.key | quote }}}
{{- end }}
{{- if .oidc.issuer }}
{{- include "foundry.variable" (dict "name" "FOUNDRY_OIDC_ISSUER" "value" .oidc.issuer) }}
{{- include "foundry.variable" (dict "name" "FOUNDRY_OIDC_AUDIENCE" "value" .oidc.audience) }}
{{- include "foundry.variable" (dict "name" "FOUNDRY_OIDC_JWKS_URL" "value" .oidc.jwksUrl) }}
{{- include "foundry.variable" (dict "name" "FOUNDRY_OIDC_WORKSPACES_CLAIM" "value" .oidc.workspacesClaim) }}
{{- include "foundry.variable" (dict "name" "FOUNDRY_OIDC_ROLES_CLAIM" "value" .oidc.rolesClaim) }}
{{- end }}
{{- include "foundry.variable" (dict "name" "FOUNDRY_PUBLIC_URL" "value" .publicUrl) }}
{{- include "foundry.variable" (dict "name" "FOUNDRY_FILE_STORAGE_ACCOUNT" "value" .documents.account) }}
{{- include "foundry.variable" (dict "name" "FOUNDRY_FILE_STORAGE_ENDPOINT" "value" .documents.endpoint) }}
{{- include "foundry.variable" (dict "name" "FOUNDRY_BROKER_URL" "value" .broker.url) }}
{{- include "foundry.variable" (dict "name" "FOUNDRY_INTELLIGENCE_URL" "value" .intelligenceUrl) }}
{{- include "foundry.variable" (dict "name" "FOUNDRY_LOG" "value" .log) }}
{{- end }}
{{- end }}
