/** `$validate` of a type or of a stored resource. Writes nothing. https://hl7.org/fhir/R4/resource-operation-validate.html */
import { parseJsonBytes } from '../../fhir/json.ts'
import { fhirError, type Issue, operationOutcomeOf } from '../../fhir/outcome.ts'
import type { Resource } from '../../fhir/resource.ts'
import type { FhirRequest, Interaction, Ports } from '../interaction.ts'
import { keyOf, typeOf } from '../resources/request-key.ts'
import { checkScope } from '../resources/scope-check.ts'
import { withSharedDefinitions } from '../resources/shared-definitions.ts'
import { readCurrentVersion } from '../resources/version-response.ts'
import type { FullValidator } from '../validation/full-validation.ts'
import { bodyOf } from '../writing/request-body.ts'
import { type DryRunInteraction, type DryRunPorts, refusalsOf } from './dry-run.ts'
import { checkParameters, inputsOf, type OperationInput, toOutcomeIssues } from './operation-input.ts'

export type ValidatePorts = DryRunPorts & Pick<Ports, 'resources'> & { readonly validated: FullValidator }

/**
 * Returns 200 with an OperationOutcome of at least one issue, even if the resource is invalid. Other statuses mean that validation did not
 * run.
 */
export const validate =
  (ports: ValidatePorts): Interaction =>
  async (request) => {
    const asked = await askedOf(request)
    checkAllowed(request, asked)
    if (asked.mode === 'delete') return { status: 200, body: operationOutcomeOf(toOutcomeIssues(await ofDeletion(ports, request, asked))) }
    const seen = withSharedDefinitions(request, ports.resources(request, 'r'))
    const head = asked.resource === undefined ? await readCurrentVersion(seen, keyOf(request)) : undefined
    const resource = asked.resource ?? (parseJsonBytes(head!.body) as Resource)
    const issues = await ofContent(ports, request, asked, resource)
    return { status: 200, about: head?.compartments ?? [], body: operationOutcomeOf(toOutcomeIssues(issues)) }
  }

type Mode = DryRunInteraction | 'profile'
const MODES: readonly Mode[] = ['create', 'update', 'delete', 'profile']

/** Parsed request. `resource`: absent if the stored resource is to be validated. */
type Asked = { readonly mode?: Mode; readonly profiles: readonly string[]; readonly resource?: Resource }

async function askedOf(request: FhirRequest): Promise<Asked> {
  checkParameters(request.parameters, ['mode', 'profile'])
  const sent = request.resource
  const inputs = sent !== undefined && isInput(sent, request) ? await inputsOf(sent, FORMS) : undefined
  const given = inputs === undefined ? sent : (inputs.get('resource')?.value as Resource | undefined)
  const mode = oneOf(request, 'mode', inputs?.get('mode'))
  if (mode !== undefined && !MODES.includes(mode as Mode))
    throw fhirError(400, 'value', `The mode is one of ${MODES.join(', ')}`, inputs?.get('mode')?.place)
  const profile = oneOf(request, 'profile', inputs?.get('profile'))
  const asked = {
    profiles: profile === undefined ? [] : [profile],
    ...(mode === undefined ? {} : { mode: mode as Mode }),
    ...(given === undefined ? {} : { resource: bodyOf({ ...request, resource: given }) }),
  }
  checkMode(request, asked)
  return asked
}

const FORMS = {
  resource: ['resource'],
  mode: ['valueCode', 'valueString'],
  profile: ['valueUri', 'valueCanonical', 'valueString'],
} as const

/**
 * Whether the body is the input of the operation, and not the resource to validate. At /Parameters/$validate, Parameters are the input only
 * if all their names are those of the operation.
 */
const isInput = ({ resourceType, parameter }: Resource, { type }: FhirRequest): boolean =>
  resourceType === 'Parameters' &&
  (type !== 'Parameters' ||
    (Array.isArray(parameter) && parameter.length > 0 && parameter.every((each) => Object.hasOwn(FORMS, String(each?.name)))))

/** Returns the value of the URL or the body, or undefined. Throws FhirError 400 if there are different values. */
function oneOf({ parameters }: FhirRequest, name: string, input: OperationInput | undefined): string | undefined {
  const inUrl = parameters.flatMap(([key, value]) => (key === name ? [value] : []))
  const all = [...new Set([...inUrl, ...(input === undefined ? [] : [String(input.value)])])]
  if (all.length > 1) throw fhirError(400, 'duplicate', `There is more than one ${name}`)
  return all[0]
}

function checkMode({ type, id }: FhirRequest, { mode, profiles, resource }: Asked): void {
  const known = id ?? (mode === 'delete' ? resource?.id : undefined)
  if (mode === 'delete' && known === undefined)
    throw fhirError(400, 'required', `mode=delete is about a resource that is there: ${type}/[id]/$validate`)
  if (mode === 'profile' && (id === undefined || resource !== undefined))
    throw fhirError(400, 'invalid', `mode=profile is about a resource that is there, and not sent: ${type}/[id]/$validate`)
  if (mode === 'profile' && profiles.length === 0) throw fhirError(400, 'required', 'mode=profile needs a profile')
  if (mode !== 'delete' && id === undefined && resource === undefined)
    throw fhirError(400, 'required', 'There is nothing to validate: send a resource, or Parameters with one')
}

/**
 * Throws FhirError 403 if a scope is missing. Mode create, update or delete requires the scope of that write. In other modes an id requires
 * the read scope. Validating the stored resource always requires the read scope.
 */
function checkAllowed(request: FhirRequest, { mode, resource }: Asked): void {
  const isWrite = mode !== undefined && mode !== 'profile'
  // guard: validate-needs-write-scope
  if (isWrite) checkScope({ ...request, interaction: mode, id: request.id ?? resource?.id ?? '' })
  const isRead = resource === undefined && mode !== 'delete'
  // guard: validate-needs-read-scope
  if (isRead || (!isWrite && request.id !== undefined)) checkScope({ ...request, interaction: 'read' })
}

async function ofContent(
  ports: ValidatePorts,
  request: FhirRequest,
  { mode, profiles }: Asked,
  resource: Resource,
): Promise<readonly Issue[]> {
  const { tenant, reading } = request
  const found = await ports.validated(resource, { tenant, profiles, reading })
  const others = idFaults(request, resource, mode)
  if (others.length > 0 || mode === undefined || mode === 'profile' || mode === 'delete') return [...found, ...others]
  const isValid = !found.some(({ severity }) => severity === 'error')
  const id = mode === 'update' ? { id: resource.id as string } : {}
  const refusals = await refusalsOf(ports, { ...request, ...id, resource }, mode, isValid)
  return [...found, ...refusals.filter((issue) => !found.some((known) => isSame(known, issue)))]
}

/** Whether both issues have the same code and location. The write repeats some checks of the content, such as the syntax of the id. */
const isSame = (a: Issue, b: Issue): boolean => a.code === b.code && a.expression !== undefined && a.expression === b.expression

/** Returns an issue if an update has no id in the body, or if that id differs from the id in the URL. */
function idFaults({ type, id }: FhirRequest, resource: Resource, mode: Mode | undefined): readonly Issue[] {
  const error = { severity: 'error', expression: `${type}.id` } as const
  if (resource.id === undefined && mode === 'update')
    return [{ ...error, code: 'required', text: 'An update carries the id of the URL in its body' }]
  if (id === undefined || resource.id === undefined || resource.id === id) return []
  return [{ ...error, code: 'invalid', text: 'The id of the body is not the id of the URL' }]
}

/** Returns the issues for which the deletion would be rejected. A resource in the body only serves for its id. */
async function ofDeletion(ports: ValidatePorts, request: FhirRequest, { resource }: Asked): Promise<readonly Issue[]> {
  const key = keyOf({ ...request, type: typeOf(request), id: request.id ?? (resource?.id as string) })
  return refusalsOf(ports, { ...request, id: key.id }, 'delete', true)
}
