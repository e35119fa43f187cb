/** What is recorded of a request: no longer than a log keeps room for, whatever was sent. */
import { isAuthPath } from '../catalogue/routes.ts'
import { isId } from '../fhir/resource.ts'
import { isResourceType } from '../fhir/resource-types.ts'
import { type AuditRecord, LONGEST_KEYS, LONGEST_PATIENTS } from '../ports/security/audit-log.ts'
import type { VersionKey } from '../ports/store/resource-store.ts'
import type { Exchange } from './exchange.ts'

/** How it ended. Milliseconds: `at` since 1970. */
export type Ended = Pick<AuditRecord, 'at' | 'status' | 'duration'>

export const auditRecordOf = (exchange: Exchange, { at, ...ended }: Ended): AuditRecord => ({
  at,
  requestId: exchange.requestId,
  tenant: exchange.caller?.tenant ?? '',
  interaction: exchange.interaction,
  ...whoAsks(exchange),
  ...keysOf(exchange),
  ...patientsOf(exchange),
  ...jobOf(exchange),
  ...fromWhere(exchange),
  ...exchange.noted,
  ...ended,
})

/** Nothing where nobody is asked. */
function whoAsks({ token, http }: Exchange): Pick<AuditRecord, 'client' | 'user' | 'subject' | 'scopes' | 'patient'> {
  if (token === undefined || (token.issuer === '' && http.arn === undefined)) return {}
  const { client, subject, scopes, user, patient } = token
  return {
    client: cut(client, LONGEST_NAME),
    subject: cut(subject, LONGEST_NAME),
    scopes: cut(scopes.join(' '), LONGEST_SCOPES),
    ...(user === undefined ? {} : { user: cut(user, LONGEST_NAME) }),
    ...(patient === undefined ? {} : { patient: cut(patient, LONGEST_NAME) }),
  }
}

/** Who guesses at a password or a secret is nobody yet. */
const fromWhere = ({ http: { path, address } }: Exchange): Pick<AuditRecord, 'address'> =>
  isAuthPath(path) && address !== undefined ? { address: cut(address, LONGEST_NAME) } : {}

/** Bytes of JSON. Those of another issuer may be as long as its token. */
const LONGEST_NAME = 500
const LONGEST_SCOPES = 4_000

/** What is too long is told by its beginning, in letters that are a byte each. */
function cut(text: string, longest: number): string {
  if (Buffer.byteLength(JSON.stringify(text)) <= longest) return text
  return `${text.slice(0, longest - 5).replace(/[^ !#-[\]-~]/g, '_')}...`
}

/** A URL may hold anything: what is neither a type nor an id is not written down. */
function keysOf({ interaction, fhir: { type, id }, written }: Exchange): Pick<AuditRecord, 'type' | 'key' | 'keys' | 'written'> {
  if (interaction === 'bundle') return writtenBy(written)
  const only = written.length === 1 ? written[0] : undefined
  if (only !== undefined) return { key: nameOf(only) }
  if (type === undefined || !isResourceType(type)) return {}
  if (id === undefined) return { type }
  return isId(id) ? { key: `${type}/${id}` } : {}
}

/** Nothing that a request says is written down but ids. */
function patientsOf(exchange: Exchange): Pick<AuditRecord, 'patients'> {
  const { written, about } = exchange
  const others = [...about, ...written.flatMap(({ compartments }) => compartments)].filter(isPatient)
  const all = new Set([...patientsNamed(exchange), ...others])
  const patients = firstWithin(LONGEST_PATIENTS, all)
  return patients.length === 0 ? {} : { patients }
}

/** `Patient/1` …: by the URL of a request, or of an entry of a Bundle, and by the form of a search. */
export function patientsNamed({ fhir: { compartment = '', type, id, parameters = [] } }: Pick<Exchange, 'fhir'>): readonly string[] {
  const named = parameters.flatMap(([name, value]) => patientsIn(name, value, type))
  return [...(type === 'Patient' && id !== undefined ? [`Patient/${id}`] : []), compartment, ...named].filter(isPatient)
}

const isPatient = (name: string): boolean => name.startsWith('Patient/') && isId(name.slice('Patient/'.length))

/** Values of one parameter that are looked at: as many as a search may have. */
const MOST_VALUES = 10_000

/** A parameter, or the id at the end of a chain, whose bare ids are of Patients, or may be. */
const OF_PATIENTS = /(?:(?:^|\.)(?:patient|subject)|:Patient)(?:\._id)?$/

/** Of `patient=1,Patient/2`, `subject=Patient/1/_history/2`, `subject:Patient=1`, `subject._id=1`, and of Patients `_id=1`. */
function patientsIn(name: string, value: string, type: string | undefined): readonly string[] {
  const isBare = OF_PATIENTS.test(name) || (name === '_id' && type === 'Patient')
  if (!isBare && !value.includes('Patient/')) return []
  return value.split(',', MOST_VALUES).map((each) => (isBare && isId(each) ? `Patient/${each}` : patientAtEndOf(each)))
}

function patientAtEndOf(reference: string): string {
  const [type, id = ''] = reference.slice(Math.max(0, reference.lastIndexOf('Patient/'))).split('/', 2)
  return `${type}/${id}`
}

/** Bytes, as JSON. */
function firstWithin(longest: number, names: Iterable<string>): readonly string[] {
  const first: string[] = []
  let size = 0
  for (const name of names) {
    size += name.length + 3
    if (size > longest) break
    first.push(name)
  }
  return first
}

function jobOf({ interaction, fhir: { id }, job }: Exchange): Pick<AuditRecord, 'job'> {
  if (job !== undefined) return { job }
  return OF_JOBS.has(interaction) && id !== undefined && isId(id) ? { job: id } : {}
}

const OF_JOBS: ReadonlySet<string> = new Set(['export-status', 'export-cancel', 'export-file'])

/** The first ones, and how many there are. */
function writtenBy(written: readonly VersionKey[]): Pick<AuditRecord, 'keys' | 'written'> {
  if (written.length === 0) return {}
  return { keys: firstWithin(LONGEST_KEYS, written.map(nameOf)), written: written.length }
}

const nameOf = ({ type, id }: VersionKey): string => `${type}/${id}`
