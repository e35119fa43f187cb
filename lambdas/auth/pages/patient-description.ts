/** Descriptions by which users distinguish patients of the same name. */
import type { FoundPatient } from '../endpoint.ts'
import { type Html, html } from './html.ts'

/**
 * Returns birth date and sex of a patient in words. Writes "unknown" for a missing one, because an empty place would look like an error of
 * the page.
 */
export const patientDetails = ({ birthDate, sex = 'unknown' }: FoundPatient): string =>
  `${birthDate === undefined ? 'birth date unknown' : `born ${birthDate}`} · ${sex === 'unknown' ? 'sex unknown' : sex}`

/** Maximum characters of a number that is shown in full. A longer one is shortened. */
const WHOLE = 12

/** Returns the patient's number, or its id if it has none. A long one is shortened, and its tooltip shows all of it. */
export function shortNumber({ number, id }: FoundPatient): Html {
  const [label, text] = number === undefined ? ['id', id] : ['number', number]
  return text.length <= WHOLE ? html`${label} ${text}` : html`<span title="${text}">${label} ${text.slice(0, 4)}…${text.slice(-4)}</span>`
}
