/** Creates the audit records of a request. They hold every name: names that do not fit into one record go into further ones. */
import type { VerifiedToken } from '../access/verification/verified-token.ts'
import { isId } from '../fhir/resource.ts'
import { isResourceType } from '../fhir/resource-types.ts'
import type { AuditRecord } from '../ports/security/audit-log.ts'
import type { VersionKey } from '../ports/store/resource-store.ts'
import { type AuditNames, type AuditRecords, splitAuditRecord } from './audit-parts.ts'
import type { Exchange } from './exchange.ts'
import { isAuthPath } from './route-table.ts'

/** Result of a request. `at`: milliseconds since 1970. `duration`: milliseconds. */
export type RequestResult = Pick<AuditRecord, 'at' | 'status' | 'duration'>

/** Names in the URL and the parameters of a request. For a Bundle, also those of its entries. */
export type QueryNames = Pick<AuditNames, 'parameters' | 'queries' | 'reads' | 'patients'>
export type QueryRecorder = (exchange: Exchange) => QueryNames

/** Returns the records of a request: several if its names do not fit into one. */
export function auditRecordsOf(exchange: Exchange, { at, ...ended }: RequestResult, recorder: QueryRecorder = namesInUrl): AuditRecords {
  if (exchange.token?.isPublic) return [publicRecordOf(exchange, exchange.token, { at, ...ended })]
  const { keys, ...single } = keysOf(exchange)
  const { patients: _, ...noted } = exchange.noted
  const record = {
    at,
    requestId: exchange.requestId,
    tenant: exchange.caller?.tenant ?? '',
    interaction: exchange.interaction,
    ...whoAsks(exchange),
    ...(isTransfer(exchange, ended.status) ? { transfer: true as const } : {}),
    ...single,
    ...jobOf(exchange),
    ...fromWhere(exchange),
    ...noted,
    ...ended,
  }
  return splitAuditRecord(record, { ...namesOf(exchange, recorder), keys: keys ?? [] })
}

/**
 * Returns the record of a request of public read. A directory must not record the searches of consumers, so the record names only the type.
 * https://hl7.org/fhir/us/davinci-pdex-plan-net/
 */
const publicRecordOf = (
  { requestId, interaction, fhir: { type = '' } }: Exchange,
  { tenant, client }: VerifiedToken,
  result: RequestResult,
): AuditRecord => ({ ...result, requestId, tenant, client, interaction, type })

/**
 * Returns the names in the request. For the authorization server it returns no parameters, because they hold secrets, and only the patients
 * that the endpoint noted.
 */
function namesOf(exchange: Exchange, recorder: QueryRecorder): QueryNames {
  if (isAuthPath(exchange.http.path)) return { parameters: [], queries: [], reads: [], patients: exchange.noted.patients ?? [] }
  const names = recorder(exchange)
  const patients = [...names.patients, ...exchange.about, ...exchange.written.flatMap(({ about }) => about)].filter(isPatient)
  return { ...names, patients: [...new Set(patients)] }
}

const isPatient = (name: string): boolean => name.startsWith('Patient/') && isId(name.slice('Patient/'.length))

/**
 * Recorder for functions without search criteria. Read, history and export accept only NON_CRITERIA_PARAMETERS, so other names are recorded
 * as UNKNOWN_NAME.
 */
const namesInUrl: QueryRecorder = ({ fhir }) => ({
  parameters: [...new Set(fhir.parameters.map(([name]) => (NON_CRITERIA_PARAMETERS.has(name) ? name : UNKNOWN_NAME)))],
  ...{ queries: [], reads: [] },
  patients: urlPatientsOf(fhir),
})

export const NON_CRITERIA_PARAMETERS: ReadonlySet<string> = new Set(
  '_format _pretty _summary _elements _count _cursor _since _at _type _typeFilter _until _outputFormat mode profile state'.split(' '),
)

/** Recorded in place of a parameter name that the server does not know, because such a name may contain anything. */
export const UNKNOWN_NAME = '?'

export const urlPatientsOf = ({ compartment = '', type, id }: Exchange['fhir']): readonly string[] =>
  type === 'Patient' && id !== undefined ? [`Patient/${id}`] : [compartment]

/** Returns the identity of the caller from its token. Returns none in open mode and for requests without a token. */
function whoAsks({ token, http }: Exchange): Pick<AuditRecord, 'client' | 'user' | 'subject' | 'scopes' | 'patient' | 'seenAs'> {
  if (token === undefined || (token.issuer === '' && http.arn === undefined)) return {}
  const { client, subject, scopes, user, patient, seenAs } = token
  return {
    client: cut(client, LONGEST_NAME),
    subject: cut(subject, LONGEST_NAME),
    scopes: cut(scopes.join(' '), LONGEST_SCOPES),
    ...(user === undefined ? {} : { user: cut(user, LONGEST_NAME) }),
    ...(patient === undefined ? {} : { patient: cut(patient, LONGEST_NAME) }),
    ...(seenAs === undefined ? {} : { seenAs: cut(seenAs, LONGEST_NAME) }),
  }
}

/**
 * Whether an app received data of the patient in context, by the token of a user. An exchanged token shows an operator what another client
 * sees.
 */
function isTransfer({ token, about }: Exchange, status: number): boolean {
  if (status >= 300 || token?.patient === undefined || token.seenAs !== undefined) return false
  // guard: own-token-of-client-is-no-transfer
  return token.actsForItself !== true && token.subject !== token.client && about.includes(`Patient/${token.patient}`)
}

/**
 * Returns the client address of a request to the authorization server: a client that guesses passwords has no other identity yet. Returns
 * none for other requests.
 */
const fromWhere = ({ http: { path, address } }: Exchange): Pick<AuditRecord, 'address'> =>
  isAuthPath(path) && address !== undefined ? { address: cut(address, LONGEST_NAME) } : {}

/** Maximum bytes of JSON of a name. A longer one is cut, because the token of another issuer may have names of any length. */
const LONGEST_NAME = 500
/** Maximum bytes of JSON of all scopes together. A longer text is cut. */
const LONGEST_SCOPES = 4_000

/**
 * Returns the text unchanged if its JSON is within the limit. Otherwise cuts it, and replaces characters that need more than one byte of
 * JSON by `_`.
 */
function cut(text: string, longest: number): string {
  if (Buffer.byteLength(JSON.stringify(text)) <= longest) return text
  return `${text.slice(0, longest - 5).replace(/[^ !#-[\]-~]/g, '_')}...`
}

/** Returns the type and key that the record names. Leaves out invalid types and ids, because a URL may contain anything. */
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

const OF_JOBS: ReadonlySet<string> = new Set(['export-status', 'export-cancel', 'export-file', 'export-file-for-partner'])

function writtenBy(written: readonly VersionKey[]): Pick<AuditRecord, 'keys' | 'written'> {
  return written.length === 0 ? {} : { keys: written.map(nameOf), written: written.length }
}

const nameOf = ({ type, id }: VersionKey): string => `${type}/${id}`
