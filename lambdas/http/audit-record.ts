/** What is recorded of a request: no longer than a log keeps room for, whatever was sent. */
import { isId } from '../fhir/resource.ts'
import { isResourceType } from '../fhir/resource-types.ts'
import { isAuthPath } from '../interactions/routes.ts'
import { type AuditRecord, LONGEST_KEYS } from '../ports/audit-log.ts'
import type { VersionKey } from '../ports/resource-store.ts'
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
function keysOf({ interaction, fhir: { type, id }, written }: Exchange): Pick<AuditRecord, 'key' | 'keys' | 'written'> {
  if (interaction === 'bundle') return writtenBy(written)
  const only = written.length === 1 ? written[0] : undefined
  if (only !== undefined) return { key: nameOf(only) }
  return type !== undefined && id !== undefined && isResourceType(type) && isId(id) ? { key: `${type}/${id}` } : {}
}

function jobOf({ interaction, fhir: { id }, job }: Exchange): Pick<AuditRecord, 'job'> {
  if (job !== undefined) return { job }
  return OF_JOBS.has(interaction) && id !== undefined && isId(id) ? { job: id } : {}
}

const OF_JOBS: ReadonlySet<string> = new Set(['export-status', 'export-cancel', 'export-file'])

/** The first ones, and how many there are. */
function writtenBy(written: readonly VersionKey[]): Pick<AuditRecord, 'keys' | 'written'> {
  if (written.length === 0) return {}
  const keys: string[] = []
  let size = 0
  for (const name of written.map(nameOf)) {
    size += name.length + 3
    if (size > LONGEST_KEYS) break
    keys.push(name)
  }
  return { keys, written: written.length }
}

const nameOf = ({ type, id }: VersionKey): string => `${type}/${id}`
