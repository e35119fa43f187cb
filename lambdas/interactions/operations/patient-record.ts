/**
 * Resources of a patient that the caller may read and find: those in the compartment of the patient, and the Devices that refer to the
 * patient.
 */
import { ruleForLetters } from '../../access/rules.ts'
import { patientDataTypes } from '../../fhir/compartment.ts'
import { ALWAYS_TRUE, and, isAlwaysFalse, type Matching, not, type Predicate } from '../../ports/search/plan.ts'
import type { ResourceVersion } from '../../ports/store/resource-store.ts'
import { clinicalDatePredicate } from '../../search/clinical-dates.ts'
import type { FhirRequest } from '../interaction.ts'
import { type PagePorts, versionsOf } from '../searching/page-entries.ts'
import { yieldIfDue } from '../time-slices.ts'
import type { EverythingPosition, EverythingRequest } from './everything-request.ts'

/** Types that $everything adds because a resource of the patient refers to them, in the order of the response. */
export const REFERENCED_TYPES: readonly string[] = [
  'Practitioner',
  'PractitionerRole',
  'Organization',
  'Location',
  'Medication',
  'Provenance',
]

export type RecordPorts = Pick<PagePorts, 'resources' | 'index' | 'blobs' | 'clock' | 'seal'>

export type PatientRecord = {
  readonly ports: RecordPorts
  readonly request: FhirRequest
  readonly patient: ResourceVersion
  /** Selects the patient's resources for the response, without the Patient itself. */
  readonly own: Matching
  /** Selects the resources of the patient whose references are collected. `own`: the same resources as are shown. */
  readonly sources: Matching | 'own'
  /** Types of REFERENCED_TYPES to collect, each with the predicate for visible resources. Empty: no references are collected. */
  readonly referred: ReadonlyMap<string, Predicate>
  readonly isShown: (version: ResourceVersion) => boolean
}

export function recordOf(ports: RecordPorts, request: FhirRequest, asked: EverythingRequest, patient: ResourceVersion): PatientRecord {
  const { types, since = Number.NEGATIVE_INFINITY } = asked
  const isAsked = (type: string): boolean => types?.has(type) ?? true
  const rules = (some: readonly string[]): ReadonlyMap<string, Predicate> =>
    new Map(
      some.flatMap((type) => {
        const rule = ruleForLetters(request.access, type, ['r', 's'], request.reading)
        return rule === undefined || isAlwaysFalse(rule) ? [] : [[type, rule] as const]
      }),
    )
  // Collect all types even if only one is requested: a Practitioner may be reachable only through a PractitionerRole.
  const referred = rules(REFERENCED_TYPES.some(isAsked) ? REFERENCED_TYPES : [])
  const isSought = [...referred.keys()].some(isAsked)
  const isNarrowed = types !== undefined || asked.since !== undefined
  return {
    ...{ ports, request, patient, referred: isSought ? referred : new Map() },
    own: matchingOf(request, rules(patientDataTypes.filter(isAsked)), asked, changedAfter(asked.since)),
    sources: isSought && isNarrowed ? matchingOf(request, rules(patientDataTypes), asked, ALWAYS_TRUE) : 'own',
    isShown: ({ type, lastUpdated }) => isAsked(type) && lastUpdated > since,
  }
}

function matchingOf(
  { tenant, id = '' }: FhirRequest,
  rules: ReadonlyMap<string, Predicate>,
  { window }: EverythingRequest,
  where: Predicate,
): Matching {
  const ofType = (type: string, rule: Predicate): Predicate =>
    and(...[ownOf(type, id), clinicalDatePredicate(type, window), rule].filter((p) => p !== ALWAYS_TRUE))
  return {
    tenant,
    types: [...rules.keys()],
    where,
    access: Object.fromEntries([...rules].map(([type, rule]) => [type, ofType(type, rule)])),
  }
}

/**
 * Returns the predicate for resources of a type that belong to the patient. These include other Patients in the compartment, which link to
 * the patient, but not the Patient itself.
 */
function ownOf(type: string, id: string): Predicate {
  const oneOf = [`Patient/${id}`]
  if (type === 'Device') return { kind: 'key', field: 'patient', oneOf }
  const inCompartment: Predicate = { kind: 'compartment', oneOf }
  return type === 'Patient' ? and(inCompartment, not({ kind: 'key', field: '_id:code', oneOf: [id] })) : inCompartment
}

const changedAfter = (since: number | undefined): Predicate =>
  since === undefined
    ? ALWAYS_TRUE
    : { kind: 'span', field: '_lastUpdated', relation: 'intersects', low: since + 1, high: Number.POSITIVE_INFINITY }

/** Maximum versions of one read. Large bodies reduce it, because a read ends after MAX_PAGE_BYTES. */
export const VERSIONS_PER_READ = 50
/** Maximum hits of one index lookup. */
const MOST_HITS = 1_000

type Own = Extract<EverythingPosition, { in: 'own' }>['after']

/**
 * Yields current versions by type and id, after the resource `after`. `wanted`: number of versions that the caller expects to use; it only
 * determines how many hits each lookup requests.
 */
export async function* readRecordVersions(
  { ports, request }: PatientRecord,
  matching: Matching,
  after: Own,
  wanted: number,
): AsyncIterable<readonly ResourceVersion[]> {
  const plan = { ...matching, order: [], limit: Math.min(Math.max(wanted, VERSIONS_PER_READ), MOST_HITS), total: 'none' as const }
  for (let from = after, isMore = matching.types.length > 0; isMore; ) {
    const { hits, more } = await ports.index.find({ ...plan, ...(from === undefined ? {} : { after: { ...from, values: [] } }) })
    for (let at = 0; at < hits.length; ) {
      await yieldIfDue()
      const versions = await versionsOf(ports, request, hits.slice(at, at + VERSIONS_PER_READ))
      yield versions
      at += versions.length
    }
    const last = hits.at(-1)
    from = last && { type: last.type, id: last.id }
    isMore = more
  }
}
