/** Descriptions of a patient, by which users tell apart patients of the same name. */
import type { FoundPatient } from '../endpoint.ts'
import { type Html, html } from './html.ts'

/** Says so if the birth date or the sex is not recorded: an empty place looks like an error of the page. */
export const patientDetails = ({ birthDate, sex = 'unknown' }: FoundPatient): string =>
  `${birthDate === undefined ? 'birth date unknown' : `born ${birthDate}`} · ${sex === 'unknown' ? 'sex unknown' : sex}`

/** Longest number that is shown whole, in characters. */
const WHOLE = 12

/** Returns the patient's number, or its id if it has none. A long one is shortened; the tooltip shows all of it. */
export function shortNumber({ number, id }: FoundPatient): Html {
  const [label, text] = number === undefined ? ['id', id] : ['number', number]
  return text.length <= WHOLE ? html`${label} ${text}` : html`<span title="${text}">${label} ${text.slice(0, 4)}…${text.slice(-4)}</span>`
}
