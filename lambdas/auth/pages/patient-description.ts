/** Descriptions by which users distinguish patients of the same name. */
import type { FoundPatient } from '../endpoint.ts'
import { type Html, html } from './html.ts'

/** Writes "unknown" for a birth date or sex that is not recorded. An empty place would look like an error of the page. */
export const patientDetails = ({ birthDate, sex = 'unknown' }: FoundPatient): string =>
  `${birthDate === undefined ? 'birth date unknown' : `born ${birthDate}`} · ${sex === 'unknown' ? 'sex unknown' : sex}`

/** Maximum characters of a number that is shown whole. */
const WHOLE = 12

/** Returns the patient's number, or its id if it has none. Shortens a long one; the tooltip shows all of it. */
export function shortNumber({ number, id }: FoundPatient): Html {
  const [label, text] = number === undefined ? ['id', id] : ['number', number]
  return text.length <= WHOLE ? html`${label} ${text}` : html`<span title="${text}">${label} ${text.slice(0, 4)}…${text.slice(-4)}</span>`
}
