/** Cursors of paging links: where the next page begins, sealed, bound to who asked and what they page through, good for a day. */
import { createHash } from 'node:crypto'
import { fhirError } from '../../fhir/outcome.ts'
import type { Clock } from '../../ports/execution/clock.ts'
import type { Seal } from '../../ports/security/seal.ts'
import type { Caller } from '../interaction.ts'

/** Whom a link is good for. */
export type LinkOwner = Pick<Caller, 'tenant' | 'client'>

const LIFETIME = 24 * 60 * 60 * 1000

/** What a cursor pages through. It carries only a mark of it, so that it stays short and holds no query text. */
export type PagedRequest = {
  readonly caller: LinkOwner
  readonly path: string
  /** Filters, order and kind of page, as JSON: what may change between two pages is not among them. */
  readonly of: unknown
}

export type OpenedCursor<Position> = { readonly position: Position; readonly mark: string }

export const sealCursor = (seal: Seal, clock: Clock, position: unknown, paged: PagedRequest): string =>
  seal.seal(JSON.stringify([callerMark(paged.caller), markOf(paged), position]), clock.now())

/** FhirError 400 for a changed cursor or one of another caller, 410 for an expired one, and one from before the store was set back. What it pages through is for `checkCursor` to check. */
export function openCursor<Position>(seal: Seal, clock: Clock, cursor: string, caller: LinkOwner): OpenedCursor<Position> {
  const opened = seal.open(cursor)
  const [of, mark, position] = JSON.parse(opened?.text ?? '[]') as [string, string, Position]
  if (opened === undefined || of !== callerMark(caller))
    throw fhirError(400, 'value', 'The cursor of the paging link is not one this server gave out')
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

/** FhirError 400 for a cursor of another path, filter or order. */
export function checkCursor({ mark }: OpenedCursor<unknown>, paged: PagedRequest): void {
  // guard: cursor-bound-to-request
  if (mark !== markOf(paged))
    throw fhirError(400, 'value', 'The cursor belongs to a search with another path, filter or order: follow the link as it is')
}

/** 96 bits. */
const MARK = 16

const markOf = ({ path, of }: PagedRequest): string => hashed([path, of])
// guard: cursor-bound-to-client
const callerMark = ({ tenant, client }: LinkOwner): string => hashed([tenant, client])

const hashed = (of: unknown): string => createHash('sha256').update(JSON.stringify(of)).digest('base64url').slice(0, MARK)
