/** What belongs to a patient, of what may be read and found: the compartment, and the devices that say whose they are. */
import { ruleForLetters } from '../../access/rules.ts'
import { patientDataTypes } from '../../fhir/compartment.ts'
import { ALWAYS_TRUE, and, isAlwaysFalse, type Matching, not, type Predicate } from '../../ports/search/plan.ts'
import type { ResourceVersion } from '../../ports/store/resource-store.ts'
import { clinicalDatePredicate } from '../../search/clinical-dates.ts'
import type { FhirRequest } from '../interaction.ts'
import { type SearchPorts, versionsOf } from '../searching/page-entries.ts'
import { yieldIfDue } from '../time-slices.ts'
import type { EverythingPosition, EverythingRequest } from './everything-request.ts'

/** What comes along because something refers to it, in the order it is shown. */
export const REFERENCED_TYPES: readonly string[] = [
  'Practitioner',
  'PractitionerRole',
  'Organization',
  'Location',
  'Medication',
  'Provenance',
]

export type RecordPorts = Pick<SearchPorts, 'resources' | 'index' | 'blobs' | 'clock' | 'seal'>

export type PatientRecord = {
  readonly ports: RecordPorts
  readonly request: FhirRequest
  readonly patient: ResourceVersion
  /** What belongs to the patient, other than the Patient: what of it is shown. */
  readonly own: Matching
  /** What of it is looked at for what it refers to; `own`: that alone. */
  readonly sources: Matching | 'own'
  /** The types of REFERRED that are looked for, each with what of it may be read and found; none: nothing is. */
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
  // One is told by way of others: a Practitioner by a PractitionerRole.
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

/** Another Patient may belong to this one: it is linked to it. */
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

/** Versions that are held at once, as far as they are no heavier than a page. */
export const VERSIONS_PER_READ = 50
/** Hits of one search. */
const MOST_HITS = 1_000

type Own = Extract<EverythingPosition, { in: 'own' }>['after']

/** In the order of type, then id, after this one. `matching`: of a record. `wanted`: about how many of them are used. */
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
