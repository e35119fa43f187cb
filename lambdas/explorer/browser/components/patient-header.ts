/** Name, sex, birth date, age and identifiers of a patient. */
import { h } from 'preact'
import { dateText, originalOf } from '../datatypes/date-time.ts'
import { humanNameText } from '../datatypes/human-name.ts'
import { shortText } from '../datatypes/value.ts'
import type { Answer } from '../http.ts'
import { isTree, type Tree, textOf, treesOf } from '../json.ts'
import { linkTo } from '../place.ts'
import { Denied, refusalOf } from './section.ts'

type Props = { readonly entry: Tree | undefined; readonly answer: Answer }

export function PatientHeader({ entry, answer }: Props) {
  const error = refusalOf(entry, answer)
  if (error !== undefined) return h('section', { 'aria-label': 'Patient' }, h('h2', null, 'Patient'), h(Denied, { error }))
  const patient = isTree(entry?.resource) ? entry.resource : {}
  const names = treesOf(patient.name)
  const name = names.find(({ use }) => use === 'official') ?? names[0]
  const born = textOf(patient.birthDate)
  const identifiers = treesOf(patient.identifier)
  return h(
    'section',
    { class: 'patient', 'aria-label': 'Patient' },
    h('h2', { dir: 'auto' }, name === undefined ? 'No name' : humanNameText(name)),
    h(
      'p',
      { class: 'facts' },
      h('span', null, textOf(patient.gender) ?? 'sex unknown'),
      h('span', null, born === undefined ? 'birth date unknown' : `born ${born}`),
      h('span', { title: originalOf(patient.deceasedDateTime) }, lifeText(patient)),
    ),
    identifiers.length > 0 &&
      h(
        'details',
        null,
        h('summary', null, identifiers.length === 1 ? '1 identifier' : `${identifiers.length} identifiers`),
        h(
          'ul',
          { class: 'facts-list' },
          identifiers.map((each, i) => h('li', { key: i, title: textOf(each.system) }, shortText(each))),
        ),
      ),
  )
}

/** Links between the pages of a patient. `here`: the page that shows them. */
export function PatientLinks({ id, here }: { readonly id: string; readonly here: 'chart' | 'member' }) {
  return h(
    'nav',
    { class: 'links', 'aria-label': 'About this patient' },
    h('a', { href: linkTo(`/Patient/${id}`) }, 'Resource'),
    here === 'chart'
      ? h('a', { href: linkTo(`/Patient/${id}/member`) }, 'Member')
      : h('a', { href: linkTo(`/Patient/${id}/chart`) }, 'Chart'),
  )
}

function lifeText({ birthDate, deceasedDateTime, deceasedBoolean }: Tree): string {
  const [born, died] = [textOf(birthDate), textOf(deceasedDateTime)]
  if (died === undefined && deceasedBoolean === true) return 'deceased'
  const today = dateText(new Date().toISOString()).slice(0, 10)
  const age = born === undefined ? '' : ageText(born, died === undefined ? today : dateText(died).slice(0, 10))
  if (died === undefined) return age
  return `deceased ${dateText(died)}${age === '' ? '' : ` at the age of ${age}`}`
}

/** Returns the age on a date, in months below two years. Dates without a month or a day make it approximate. */
export function ageText(born: string, on: string): string {
  const [year = 0, month, day] = born.split('-').map(Number)
  const [onYear = 0, onMonth = 12, onDay = 31] = on.split('-').map(Number)
  if (month === undefined) return `about ${onYear - year} years`
  const months = (onYear - year) * 12 + onMonth - month - (day !== undefined && onDay < day ? 1 : 0)
  if (months < 0) return ''
  const text = months < 24 ? `${months} months` : `${Math.floor(months / 12)} years`
  return day === undefined ? `about ${text}` : text
}
