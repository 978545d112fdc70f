-- Health of Foundry's resources, from the conditions that every one of them carries.
-- Argo CD gives `obj` and opens no library but the base one.
local health = {status = "Progressing", message = "the operator has not looked at it yet"}

if obj.metadata.deletionTimestamp ~= nil then
  health.message = "it is being deleted"
  return health
end
if obj.status == nil or obj.status.conditions == nil
    or obj.status.observedGeneration ~= obj.metadata.generation then
  return health
end

local found = {}
for _, condition in ipairs(obj.status.conditions) do
  found[condition.type] = condition
end

local function is(kind)
  return found[kind] ~= nil and found[kind].status == "True"
end

local function tell(status, kind)
  health.status = status
  if found[kind] ~= nil then
    health.message = found[kind].reason .. ": " .. found[kind].message
  end
  return health
end

if is("Stalled") then
  return tell("Degraded", "Stalled")
end
if not is("Ready") then
  return tell("Progressing", "Ready")
end

-- A person's turn: a plan to approve, a question, or what somebody stopped.
local suspended = {AwaitingApproval = true, AwaitingAnswer = true, Stopped = true}
if suspended[found["Ready"].reason] then
  return tell("Suspended", "Ready")
end
return tell("Healthy", "Ready")
