/** The audit records of a request: whole, whatever was sent. What does not fit into one is in further ones. */
import { isAuthPath } from '../catalogue/routes.ts'
import { isId } from '../fhir/resource.ts'
import { isResourceType } from '../fhir/resource-types.ts'
import type { AuditRecord } from '../ports/security/audit-log.ts'
import type { VersionKey } from '../ports/store/resource-store.ts'
import { type AuditNames, type AuditRecords, splitAuditRecord } from './audit-parts.ts'
import type { Exchange } from './exchange.ts'

/** How it ended. Milliseconds: `at` since 1970. */
export type RequestResult = Pick<AuditRecord, 'at' | 'status' | 'duration'>

/** Names in the URL and the parameters of a request; for a Bundle, those of its entries. */
export type QueryNames = Pick<AuditNames, 'parameters' | 'queries' | 'reads' | 'patients'>
export type QueryRecorder = (exchange: Exchange) => QueryNames

/** Returns the records of a request: several where its names do not fit into one. */
export function auditRecordsOf(exchange: Exchange, { at, ...ended }: RequestResult, recorder: QueryRecorder = namesInUrl): AuditRecords {
  const { keys, ...single } = keysOf(exchange)
  const { patients: _, ...noted } = exchange.noted
  const record = {
    at,
    requestId: exchange.requestId,
    tenant: exchange.caller?.tenant ?? '',
    interaction: exchange.interaction,
    ...whoAsks(exchange),
    ...single,
    ...jobOf(exchange),
    ...fromWhere(exchange),
    ...noted,
    ...ended,
  }
  return splitAuditRecord(record, { ...namesOf(exchange, recorder), keys: keys ?? [] })
}

/** Parameters of the authorization server are secrets, and about no patient. */
function namesOf(exchange: Exchange, recorder: QueryRecorder): QueryNames {
  if (isAuthPath(exchange.http.path)) return { parameters: [], queries: [], reads: [], patients: exchange.noted.patients ?? [] }
  const names = recorder(exchange)
  const patients = [...names.patients, ...exchange.about, ...exchange.written.flatMap(({ about }) => about)].filter(isPatient)
  return { ...names, patients: [...new Set(patients)] }
}

const isPatient = (name: string): boolean => name.startsWith('Patient/') && isId(name.slice('Patient/'.length))

/** Records requests without criteria: read, history and export read these parameters, and no others. */
const namesInUrl: QueryRecorder = ({ fhir }) => ({
  parameters: [...new Set(fhir.parameters.map(([name]) => (NON_CRITERIA_PARAMETERS.has(name) ? name : UNKNOWN_NAME)))],
  ...{ queries: [], reads: [] },
  patients: urlPatientsOf(fhir),
})

export const NON_CRITERIA_PARAMETERS: ReadonlySet<string> = new Set(
  '_format _pretty _summary _elements _count _cursor _since _at _type _typeFilter _until _outputFormat mode profile'.split(' '),
)

/** In place of a name that the server does not know: it may be anything. */
export const UNKNOWN_NAME = '?'

export const urlPatientsOf = ({ compartment = '', type, id }: Exchange['fhir']): readonly string[] =>
  type === 'Patient' && id !== undefined ? [`Patient/${id}`] : [compartment]

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

function jobOf({ interaction, fhir: { id }, job }: Exchange): Pick<AuditRecord, 'job' | 'level' | 'group'> {
  if (job !== undefined) {
    const { id, level, group } = job
    return { job: id, level, ...(group === undefined ? {} : { group: `Group/${group}` }) }
  }
  return OF_JOBS.has(interaction) && id !== undefined && isId(id) ? { job: id } : {}
}

const OF_JOBS: ReadonlySet<string> = new Set(['export-status', 'export-cancel', 'export-file'])

function writtenBy(written: readonly VersionKey[]): Pick<AuditRecord, 'keys' | 'written'> {
  return written.length === 0 ? {} : { keys: written.map(nameOf), written: written.length }
}

const nameOf = ({ type, id }: VersionKey): string => `${type}/${id}`
