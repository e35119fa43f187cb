/** Cursors of paging links: where the next page begins, sealed, bound to the path they were made for, good for a day. */
import { fhirError } from '../fhir/outcome.ts'
import type { Clock } from '../ports/clock.ts'
import type { Seal } from '../ports/seal.ts'

const LIFETIME = 24 * 60 * 60 * 1000

export const sealCursor = (seal: Seal, clock: Clock, position: unknown, path: string): string =>
  seal.seal(JSON.stringify([path, position]), clock.now())

/** FhirError 400 for a changed or foreign cursor, 410 for an expired one. */
export function openCursor<Position>(seal: Seal, clock: Clock, cursor: string, path: string): Position {
  const opened = seal.open(cursor)
  if (opened === undefined) throw fhirError(400, 'value', 'The cursor of the paging link is not one this server gave out')
  const [forPath, position] = JSON.parse(opened.text) as [string, Position]
  if (forPath !== path) throw fhirError(400, 'value', 'The cursor belongs to another search')
  if (clock.now() - opened.at > LIFETIME) throw fhirError(410, 'not-found', 'The cursor has expired: start again from the first page')
  return position
}
