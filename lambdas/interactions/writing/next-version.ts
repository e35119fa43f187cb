/** Version that a write adds to a resource, and the response to the client. https://hl7.org/fhir/R4/http.html#create, #update */
import { compartmentsOf } from '../../fhir/compartment.ts'
import { writeJson } from '../../fhir/json.ts'
import { FhirError, fhirError, type Issue, operationOutcomeOf } from '../../fhir/outcome.ts'
import type { BaseUrls } from '../../fhir/references.ts'
import type { Resource } from '../../fhir/resource.ts'
import { stampResource, toEtag } from '../../fhir/version.ts'
import type { Clock } from '../../ports/execution/clock.ts'
import type { ResourceKey, ResourceVersion, Write, WriteKind } from '../../ports/store/resource-store.ts'
import { checkDefinition } from '../../search/custom/custom-parameters.ts'
import { MAX_SEARCHABLE_CHARACTERS } from '../../search/text-folding.ts'
import type { Awaitable, FhirRequest, FhirResponse, Ports, WrittenVersion } from '../interaction.ts'
import { ownersOf } from '../resources/patient-data.ts'
import { writeScopeNoteOf } from '../resources/shared-definitions.ts'
import { locationOf, versionHeadersOf } from '../resources/version-response.ts'
import { authorizeWrite, type Head, type JudgePorts, redactResponse } from './head-access.ts'
import { checkNewIdentifiers, newIdentifiersOf } from './new-identifiers.ts'
import { andThen, type PreparedWrite, type ResponseWithoutWrite, type WriteTarget } from './write-loop.ts'
import { definitionWarningsOf, longStringWarningsOf, SUBSCRIPTION_WARNING, toStoredResource } from './write-warnings.ts'

/** Maximum bytes of a stored resource. Larger ones are answered 413. */
const LARGEST_BODY = 20_000_000

/**
 * Returns the lastUpdated of the next version: later than that of the current one, even if that was set by a clock that is ahead. Ignores
 * the lastUpdated of a damaged version.
 */
const stampAfter = (clock: Clock, head: Head | undefined): number =>
  head === undefined || 'damage' in head ? clock.now() : Math.max(clock.now(), head.lastUpdated + 1)

export type NextVersionPorts = Pick<Ports, 'clock' | 'profiled' | 'progress' | 'identifiersOf'> & JudgePorts

/**
 * Prepares the resource as the version after `head`. Throws FhirError 403 if the access does not allow this version, and 413 if it is too
 * large. Throws FhirError 422 for an unusable SearchParameter, or if it violates enforced profiles.
 */
export function prepareVersion(
  ports: NextVersionPorts,
  request: FhirRequest,
  target: WriteTarget,
  head: Head | undefined,
  sent: Resource,
): Awaitable<PreparedWrite> {
  const resource = toStoredResource(sent)
  const next = (profiled: readonly Issue[]): Awaitable<PreparedWrite> => {
    const change = following(ports, request, target, head, resource, resource === sent ? profiled : [...profiled, SUBSCRIPTION_WARNING])
    return andThen(authorizeWrite(request, change.write, ports), () => {
      const response = toPatcher(request, change.write, change.response, ports)
      return response === change.response ? change : andThen(response, (shown) => ({ ...change, response: shown }))
    })
  }
  const profiled = (before: readonly Issue[] = []): Awaitable<PreparedWrite> =>
    andThen(ports.profiled(resource, request), (issues) => next(before.length === 0 ? issues : [...before, ...issues]))
  if (resource.resourceType !== 'SearchParameter') return profiled()
  const { tenant } = request
  return checkDefinition(resource, {
    tenant,
    id: target.key.id,
    expressions: ports.expressions,
    usable: request.reading.custom,
    registered: () => ports.progress.parameters(tenant),
  }).then(profiled)
}

/** Redacts the response to a patch, because its client has not sent the resource. Returns other responses unchanged. */
const toPatcher = (
  request: FhirRequest,
  version: Omit<ResourceVersion, 'versionId'>,
  response: FhirResponse,
  ports: JudgePorts,
): Awaitable<FhirResponse> => (request.interaction === 'patch' ? redactResponse(request, version, response, ports) : response)

function following(
  { clock, identifiersOf }: Pick<NextVersionPorts, 'clock' | 'identifiersOf'>,
  request: FhirRequest,
  { key, uniqueness }: WriteTarget,
  head: Head | undefined,
  resource: Resource,
  profiled: readonly Issue[],
): PreparedWrite {
  const expected = head?.versionId ?? 0
  const lastUpdated = stampAfter(clock, head)
  const stamped = stampResource(resource, key.id, expected + 1, lastUpdated)
  const body = Buffer.from(writeJson(stamped))
  if (body.length > LARGEST_BODY) throw fhirError(413, 'too-long', `The resource is larger than ${LARGEST_BODY} bytes`)
  const created = head === undefined || head.deleted
  const made = madeBy(request, created)
  const identifiers = identifiersOf === undefined ? [] : newIdentifiersOf(stamped, head, identifiersOf)
  const write: Write = {
    ...{ ...key, expected, lastUpdated, deleted: false, made, compartments: compartmentsOf(stamped, request.reading), body },
    ...(identifiers.length === 0 ? {} : { identifiers }),
  }
  checkNewIdentifiers([write], `${key.type}.identifier`)
  return {
    kind: 'change',
    write,
    guards: uniqueness?.guards ?? [],
    response: {
      ...saved(request, write, created),
      ...warningsOf(stamped, body, request, profiled),
      written: [writtenBy(write, ownersOf(write, request.reading))],
    },
  }
}

function madeBy({ interaction }: FhirRequest, created: boolean): WriteKind {
  if (interaction === 'create' || interaction === 'patch') return interaction
  return created ? 'update-as-create' : 'update'
}

/** Prepares the deletion of the resource: a version without content. */
export function prepareDeletion(clock: Clock, key: ResourceKey, head: Head, bases: BaseUrls): PreparedWrite {
  const write: Write = {
    ...key,
    expected: head.versionId,
    lastUpdated: stampAfter(clock, head),
    deleted: true,
    compartments: 'damage' in head ? [] : head.compartments,
    body: new Uint8Array(),
  }
  const about = 'damage' in head ? [] : ownersOf(head, bases)
  const response = { status: 204, headers: { etag: toEtag(head.versionId + 1) }, written: [writtenBy(write, about)] }
  return { kind: 'change', write, guards: [], response }
}

/**
 * Returns the warnings about the resource. They must be shown if it has strings that are too long for searches to find. Specification 4.2,
 * 7
 */
function warningsOf(
  resource: Resource,
  body: Uint8Array,
  { reading }: FhirRequest,
  profiled: readonly Issue[],
): Pick<FhirResponse, 'warnings'> {
  const long = body.length <= MAX_SEARCHABLE_CHARACTERS ? [] : longStringWarningsOf(resource, reading)
  const issues = [...long, ...definitionWarningsOf(resource), ...profiled]
  return issues.length === 0 ? {} : { warnings: { outcome: operationOutcomeOf(issues), mustBeKnown: long.length > 0 } }
}

const writtenBy = ({ tenant, type, id, expected }: Write, about: WrittenVersion['about']): WrittenVersion => ({
  ...{ tenant, type, id, versionId: expected + 1, about },
})

/** Returns the response for an existing version that a request leaves unchanged, such as the match of If-None-Exist. */
export const unchangedResponse = (request: FhirRequest, version: ResourceVersion): FhirResponse => ({
  ...saved(request, { ...version, expected: version.versionId - 1 }, false),
  about: ownersOf(version, request.reading),
})

/** Returns the response of an update or patch that changes nothing and adds no version. */
export const noOpWrite = (request: FhirRequest, head: ResourceVersion, ports: JudgePorts): Awaitable<ResponseWithoutWrite> =>
  andThen(toPatcher(request, head, unchangedResponse(request, head), ports), (response) => ({ kind: 'answer', response, key: head }))

function saved({ baseUrl, preferences }: FhirRequest, write: Write, created: boolean): FhirResponse {
  const { type, id, lastUpdated } = write
  const versionId = write.expected + 1
  const response = {
    status: created ? 201 : 200,
    headers: { ...versionHeadersOf({ versionId, lastUpdated }), location: locationOf(baseUrl, { type, id, versionId }) },
    lastUpdated,
  }
  switch (preferences.return) {
    case 'minimal':
      return response
    case 'OperationOutcome':
      return {
        ...response,
        body: operationOutcomeOf([
          { severity: 'information', code: 'informational', text: `${created ? 'Created' : 'Updated'} ${type}/${id}` },
        ]),
      }
    default:
      return { ...response, body: write.body }
  }
}

/** Throws FhirError 412 if the current version does not meet If-Match. https://hl7.org/fhir/R4/http.html#concurrency */
export function checkIfMatch(request: FhirRequest, key: ResourceKey, head: Head | undefined): void {
  const { ifMatch } = request.preconditions
  if (ifMatch === undefined || (head !== undefined && !head.deleted && (ifMatch === '*' || ifMatch.includes(head.versionId)))) return
  const isLacking = head === undefined || head.deleted
  const is = isLacking
    ? `${head === undefined ? 'does not exist' : 'is deleted'}${writeScopeNoteOf(request, key)}`
    : `is at version ${head.versionId}`
  throw new FhirError(412, [{ severity: 'error', code: 'conflict', text: `If-Match names ${named(ifMatch)}, but the resource ${is}` }])
}

/** Throws FhirError 412 if the current version does not meet If-None-Match. https://www.rfc-editor.org/rfc/rfc9110#section-13.1.2 */
export function checkIfNoneMatch({ preconditions: { ifNoneMatch } }: FhirRequest, head: Head | undefined): void {
  if (ifNoneMatch === undefined || head === undefined || head.deleted) return
  if (ifNoneMatch !== '*' && !ifNoneMatch.includes(head.versionId)) return
  const what = ifNoneMatch === '*' ? 'asks for a new resource, but it' : 'names the current version: the resource'
  throw new FhirError(412, [{ severity: 'error', code: 'conflict', text: `If-None-Match ${what} is at version ${head.versionId}` }])
}

/** Describes the versions of If-Match, at most ten of them. */
function named(ifMatch: readonly number[] | '*'): string {
  if (ifMatch === '*') return 'any version'
  return ifMatch.length === 0 ? 'no version of this server' : `version ${ifMatch.slice(0, 10).join(', ')}`
}
