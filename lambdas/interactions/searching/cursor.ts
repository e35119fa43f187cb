/**
 * Cursors of paging links: the sealed start of the next page. A cursor is bound to its tenant, its client and the request that it pages
 * through, and is valid for one day.
 */
import { createHash } from 'node:crypto'
import { fhirError } from '../../fhir/outcome.ts'
import type { Clock } from '../../ports/execution/clock.ts'
import type { Seal } from '../../ports/security/seal.ts'
import type { Caller } from '../interaction.ts'

/** Tenant and client that a paging link is bound to. It is not bound to the user. */
export type LinkOwner = Pick<Caller, 'tenant' | 'client'>

const LIFETIME = 24 * 60 * 60 * 1000

/** Request that a cursor pages through. The cursor only carries a digest of it, so that it stays short and contains no query text. */
export type PagedRequest = {
  readonly caller: LinkOwner
  readonly path: string
  /** Filters, order and kind of page, as JSON. Excludes parameters that a client may change between two pages. */
  readonly of: unknown
}

export type OpenedCursor<Position> = { readonly position: Position; readonly mark: string }

export const sealCursor = (seal: Seal, clock: Clock, position: unknown, paged: PagedRequest): string =>
  seal.seal(JSON.stringify([callerMark(paged.caller), markOf(paged), position]), clock.now())

/**
 * Opens a cursor. Throws FhirError 400 if it was changed or belongs to another tenant or client. Throws FhirError 410 if it has expired, or
 * was created before a point-in-time restore. Call `checkCursor` too: only that checks the paged request.
 */
export function openCursor<Position>(seal: Seal, clock: Clock, cursor: string, caller: LinkOwner): OpenedCursor<Position> {
  const opened = seal.open(cursor)
  const [of, mark, position] = JSON.parse(opened?.text ?? '[]') as [string, string, Position]
  if (opened === undefined || of !== callerMark(caller))
    throw fhirError(400, 'value', 'The cursor of the paging link is not from this server')
  if (opened.isFormer === true)
    throw fhirError(
      410,
      'not-found',
      'The cursor is from before the data of this server was set back to an earlier time: start again from the first page',
    )
  // guard: cursor-lifetime
  if (clock.now() - opened.at > LIFETIME) throw fhirError(410, 'not-found', 'The cursor has expired: start again from the first page')
  return { mark, position }
}

/** Throws FhirError 400 if the cursor belongs to a request with another path, filter or order. */
export function checkCursor({ mark }: OpenedCursor<unknown>, paged: PagedRequest): void {
  // guard: cursor-bound-to-request
  if (mark !== markOf(paged))
    throw fhirError(400, 'value', 'The cursor belongs to a search with another path, filter or order: follow the link as it is')
}

/** Characters of a digest: 96 bits. */
const MARK = 16

const markOf = ({ path, of }: PagedRequest): string => hashed([path, of])
// guard: cursor-bound-to-client
const callerMark = ({ tenant, client }: LinkOwner): string => hashed([tenant, client])

const hashed = (of: unknown): string => createHash('sha256').update(JSON.stringify(of)).digest('base64url').slice(0, MARK)
