/** Period. https://hl7.org/fhir/R4/datatypes.html#Period */
import { type Tree, textOf } from '../json.ts'
import { dateText } from './date-time.ts'

export const isPeriod = (tree: Tree): boolean => 'start' in tree || 'end' in tree

export function periodText({ start, end }: Tree): string {
  const [from, to] = [textOf(start), textOf(end)]
  if (from === undefined) return to === undefined ? '' : `until ${dateText(to)}`
  return to === undefined ? `since ${dateText(from)}` : `${dateText(from)} – ${dateText(to)}`
}
