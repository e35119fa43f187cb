/** Dates and times, in the time zone of the person. https://hl7.org/fhir/R4/datatypes.html#dateTime */
import { isTree, type Json, textOf } from '../json.ts'

const DATE = /^\d{4}(-\d\d(-\d\d)?)?$/
const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/

export const isDateText = (text: string): boolean => INSTANT.test(text) || (DATE.test(text) && text.length > 4)

/** Returns an instant as a local date and time, and a date as it is. */
export function dateText(text: string): string {
  if (!INSTANT.test(text)) return text
  const date = new Date(text)
  if (Number.isNaN(date.getTime())) return text
  const two = (value: number) => String(value).padStart(2, '0')
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${two(date.getHours())}:${two(date.getMinutes())}`
}

/** Returns the instants of a value or of a Period as the resource has them, because the page shows them in the time zone of the person. */
export function originalOf(value: Json | undefined): string | undefined {
  const texts = (isTree(value) ? [value.start, value.end] : [value]).map((each) => textOf(each) ?? '')
  return texts.filter((each) => INSTANT.test(each)).join(' – ') || undefined
}
