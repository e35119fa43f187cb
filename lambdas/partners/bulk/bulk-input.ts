/**
 * Reads the request of a partner for many members. http://hl7.org/fhir/us/davinci-pdex/OperationDefinition/BulkMemberMatch,
 * http://hl7.org/fhir/us/davinci-pdex/OperationDefinition/ProviderMemberMatch
 */
import { writeJson } from '../../fhir/json.ts'
import { FhirError, fhirError, type Issue } from '../../fhir/outcome.ts'
import { type Element, isElement, type Resource } from '../../fhir/resource.ts'
import { type InputOptions, memberPartsOf, type SentResource, withoutResource } from '../match/member-input.ts'

/** Member of a request. `consentIssues`: violations of R4 in the Consent, which then permits nothing. Absent: none. */
export type SentMember = {
  readonly patient: Resource
  readonly coverage: Resource
  readonly consent: Resource
  readonly consentIssues?: readonly Issue[]
}

export type BulkInputOptions = Pick<InputOptions, 'structureIssuesOf'> & {
  /** Maximum members. */
  readonly limit: number
  /** Called before each member, so that other requests can run. */
  readonly pause: () => Promise<void> | undefined
}

const MEMBER = 'MemberBundle'

/**
 * Returns the members in their order. Throws FhirError 400 with the place if the Parameters have another form, or if two Patients have
 * the same id. Throws 413 for too many members. Does not check elements that only the match needs.
 */
export async function bulkInputOf(body: Resource | undefined, options: BulkInputOptions): Promise<readonly SentMember[]> {
  if (body?.resourceType !== 'Parameters') throw fhirError(400, 'structure', `The body must be a Parameters resource with ${MEMBER}`)
  const entries: readonly unknown[] = Array.isArray(body.parameter) ? body.parameter : []
  if (entries.length === 0) throw fhirError(400, 'required', `The parameter ${MEMBER} is missing`, PLACE)
  if (entries.length > options.limit) throw tooManyMembers(entries.length, options.limit)
  const members: SentMember[] = []
  const places = new Map<string, { readonly place: string; readonly text: string }>()
  for (const [i, entry] of entries.entries()) {
    await options.pause()
    const place = `${PLACE}[${i}]`
    await checkEntry(entry, place, options)
    const { patient, ...member } = await memberOf((entry as Element).part as readonly unknown[], `${place}.part`, options)
    checkId(patient, places)
    members.push({ patient: patient.resource, ...member })
  }
  return members
}

const PLACE = 'Parameters.parameter'

async function checkEntry(entry: unknown, place: string, { structureIssuesOf }: BulkInputOptions): Promise<void> {
  const parts = isElement(entry) && Array.isArray(entry.part) ? entry.part : undefined
  const checked = parts === undefined ? entry : { ...(entry as Element), part: parts.map(withoutResource) }
  const issues = await structureIssuesOf({ resourceType: 'Parameters', parameter: [checked] })
  if (issues.length > 0) throw new FhirError(400, issues.map(movedTo(`${PLACE}[0]`, place)))
  const name = String((entry as Element).name)
  if (name !== MEMBER)
    throw fhirError(400, 'not-supported', `${name.slice(0, 64)} is not a parameter of this operation. It accepts ${MEMBER}`, place)
  if (parts === undefined) throw fhirError(400, 'required', `The parameter ${MEMBER} must have parts`, place)
}

const movedTo =
  (from: string, to: string) =>
  (issue: Issue): Issue =>
    issue.expression?.startsWith(from) ? { ...issue, expression: to + issue.expression.slice(from.length) } : issue

type ReadMember = Omit<SentMember, 'patient'> & { readonly patient: SentResource }

async function memberOf(parts: readonly unknown[], place: string, { structureIssuesOf }: BulkInputOptions): Promise<ReadMember> {
  // A bad Consent affects only its own member.
  const { patient, coverage, consent } = await memberPartsOf(parts, place, {
    needsConsent: true,
    structureIssuesOf: (resource) => (resource.resourceType === 'Consent' ? [] : structureIssuesOf(resource)),
  })
  const consentIssues = await structureIssuesOf(consent!.resource)
  return {
    patient,
    coverage: coverage.resource,
    consent: consent!.resource,
    ...(consentIssues.length === 0 ? {} : { consentIssues }),
  }
}

/** One Group cannot contain two Patients with the same id. The same Patient may be sent with several Coverages. */
function checkId({ resource, place }: SentResource, known: Map<string, { readonly place: string; readonly text: string }>): void {
  if (resource.id === undefined) return
  const text = writeJson(resource)
  const first = known.get(resource.id)
  if (first === undefined) known.set(resource.id, { place, text })
  else if (first.text !== text)
    throw new FhirError(
      400,
      [first.place, place].map((expression) => ({
        severity: 'error',
        code: 'duplicate',
        text: 'Two different Patients have the same id. Give each Patient its own id, or send them in two requests',
        expression,
      })),
    )
}

const tooManyMembers = (sent: number, limit: number): FhirError =>
  fhirError(413, 'too-long', `The request has ${sent} members, and the maximum is ${limit}. Send several requests`, PLACE)
