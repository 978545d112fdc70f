{{/* Values that the schema cannot refuse. */}}
{{- define "foundry.check" -}}
{{- include "foundry.checkExtras" . -}}
{{- if .Values.agentRuntime -}}
{{- if has .Release.Namespace .Values.agentRuntime.namespaces -}}
{{- fail (printf "agentRuntime.namespaces: %s is the release's own namespace, whose rights are others; install the release into another namespace, or name others for agents" .Release.Namespace) -}}
{{- end -}}
{{- if and .Values.networkPolicy.enabled (ne .Release.Namespace "default") -}}
{{- fail "networkPolicy.enabled: harness pods may reach the API in namespace default alone; install the release there, or set it to false" -}}
{{- end -}}
{{- if and (gt (int .Values.api.replicas) 1) (not (include "foundry.apiIsShared" .)) -}}
{{- fail "api.replicas: more than one needs api.database.existingSecret, and api.persistence.accessModes [ReadWriteMany] or api.documents.account with api.persistence.enabled false" -}}
{{- end -}}
{{- with .Values.api -}}
{{- if ne (empty .documents.account) (empty .documents.existingSecret) -}}
{{- fail "api.documents: account and existingSecret go together; set both or none" -}}
{{- end -}}
{{- if and .documents.endpoint (not .documents.account) -}}
{{- fail "api.documents.endpoint: means nothing without api.documents.account; set it too" -}}
{{- end -}}
{{- if ne (empty .broker.url) (empty .broker.existingSecret) -}}
{{- fail "api.broker: url and existingSecret go together; set both or none" -}}
{{- end -}}
{{- if and .intelligenceUrl (not .serviceToken.existingSecret) -}}
{{- fail "api.intelligenceUrl: is called with the service token; set api.serviceToken.existingSecret too" -}}
{{- end -}}
{{- end -}}
{{- if ne (empty .Values.operator.people.url) (empty .Values.operator.people.existingSecret) -}}
{{- fail "operator.people: url and existingSecret go together; set both or none" -}}
{{- end -}}
{{- include "foundry.checkPorts" . -}}
{{- else if not (regexMatch "^[a-z]([-a-z0-9]*[a-z0-9])?$" .Release.Name) -}}
{{- fail (printf "the release's name %s is that of its Service too, which begins with a letter and has no dots; choose another" .Release.Name) -}}
{{- end -}}
{{- end }}

{{/* What the chart sets, nothing beside it may set again: the cluster refuses one of the two,
     or takes either. */}}
{{- define "foundry.checkExtras" -}}
{{- $common := list "app.kubernetes.io/name" "app.kubernetes.io/instance" "app.kubernetes.io/component" -}}
{{- $parts := list (dict "name" "api" "labels" $common "variables" list) -}}
{{- if .Values.agentRuntime -}}
{{- $api := dict "name" "api" "labels" (append $common "app") "variables" (include "foundry.apiVariables" . | fromYamlArray) -}}
{{- $operator := dict "name" "operator" "labels" $common "variables" (include "foundry.operatorVariables" . | fromYamlArray) -}}
{{- $parts = list $api $operator -}}
{{- end -}}
{{- range $part := $parts -}}
{{- $given := index $.Values $part.name -}}
{{- range $label, $_ := $given.podLabels -}}
{{- if has $label $part.labels -}}
{{- fail (printf "%s.podLabels: %s is the chart's own; leave it out" $part.name $label) -}}
{{- end -}}
{{- end -}}
{{- range $variable := $part.variables -}}
{{- range $extra := $given.extraEnv -}}
{{- if eq $variable.name (toString $extra.name) -}}
{{- fail (printf "%s.extraEnv: %s has a value of the chart already; set that one" $part.name $extra.name) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end }}

{{/* Addresses that the API or the operator is given and its network policy closes. Whether a
     rule of networkPolicy.apiEgress or operatorEgress opens one, only a network knows. */}}
{{- define "foundry.checkPorts" -}}
{{- $policy := .Values.networkPolicy -}}
{{- if and $policy.enabled (not $policy.operatorEgress) .Values.operator.people.url -}}
{{- $url := urlParse .Values.operator.people.url -}}
{{- $usual := ternary "443" "80" (eq $url.scheme "https") -}}
{{- $port := regexFind ":[0-9]+$" $url.host | trimPrefix ":" | default $usual -}}
{{- if not (has $port (toStrings $policy.outPorts)) -}}
{{- fail (printf "operator.people.url: the operator's network policy closes port %s; open it in networkPolicy.operatorEgress, by the port that the pods there listen on, or in networkPolicy.outPorts" $port) -}}
{{- end -}}
{{- end -}}
{{- if and $policy.enabled (not $policy.apiEgress) -}}
{{- $api := .Values.api -}}
{{- $addresses := dict "api.oidc.issuer" $api.oidc.issuer "api.oidc.jwksUrl" $api.oidc.jwksUrl "api.documents.endpoint" $api.documents.endpoint "api.broker.url" $api.broker.url "api.intelligenceUrl" $api.intelligenceUrl -}}
{{- range $name, $address := $addresses -}}
{{- if $address -}}
{{- $url := urlParse $address -}}
{{- $usual := ternary "443" "80" (eq $url.scheme "https") -}}
{{- $port := regexFind ":[0-9]+$" $url.host | trimPrefix ":" | default $usual -}}
{{- if not (has $port (toStrings $policy.outPorts)) -}}
{{- fail (printf "%s: the API's network policy closes port %s; open it in networkPolicy.apiEgress, by the port that the pods there listen on, or in networkPolicy.outPorts" $name $port) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end }}
