/** Cursors of paging links: where the next page begins, sealed, bound to what they page through, good for a day. */
import { createHash } from 'node:crypto'
import { fhirError } from '../fhir/outcome.ts'
import type { Clock } from '../ports/clock.ts'
import type { Seal } from '../ports/seal.ts'
import type { FhirRequest } from './interaction.ts'

const LIFETIME = 24 * 60 * 60 * 1000

/** What a cursor pages through. It carries only a mark of it, so that it stays short and holds no query text. */
export type Paged = {
  readonly tenant: string
  readonly path: string
  /** Filters, order and kind of page, as JSON: what may change between two pages is not among them. */
  readonly of: unknown
}

export type Opened<Position> = { readonly position: Position; readonly mark: string }

export const pagedOf = ({ tenant }: FhirRequest, path: string, of: unknown): Paged => ({ tenant, path, of })

export const sealCursor = (seal: Seal, clock: Clock, position: unknown, paged: Paged): string =>
  seal.seal(JSON.stringify([markOf(paged), position]), clock.now())

/** FhirError 400 for a changed or foreign cursor, 410 for an expired one. What it belongs to is for `mustPage` to check. */
export function openCursor<Position>(seal: Seal, clock: Clock, cursor: string): Opened<Position> {
  const opened = seal.open(cursor)
  if (opened === undefined) throw fhirError(400, 'value', 'The cursor of the paging link is not one this server gave out')
  const [mark, position] = JSON.parse(opened.text) as [string, Position]
  if (clock.now() - opened.at > LIFETIME) throw fhirError(410, 'not-found', 'The cursor has expired: start again from the first page')
  return { mark, position }
}

/** FhirError 400 for a cursor of another path, filter or order. */
export function mustPage({ mark }: Opened<unknown>, paged: Paged): void {
  if (mark !== markOf(paged))
    throw fhirError(400, 'value', 'The cursor belongs to a search with another path, filter or order: follow the link as it is')
}

/** 96 bits. */
const MARK = 16

const markOf = ({ tenant, path, of }: Paged): string =>
  createHash('sha256')
    .update(JSON.stringify([tenant, path, of]))
    .digest('base64url')
    .slice(0, MARK)
