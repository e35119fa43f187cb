/** Payer's view of a patient: coverage, claims with amounts, claim responses, groups and consents. */
import { h } from 'preact'
import { Frame } from '../components/frame.ts'
import { answersOf, Show, useLoaded } from '../components/loaded.ts'
import { PatientHeader, PatientLinks } from '../components/patient-header.ts'
import { type Column, ResourceTable, refusalOf, requestOf, type Search, Section, useOwnTotals } from '../components/section.ts'
import { dateText } from '../datatypes/date-time.ts'
import { quantityText } from '../datatypes/quantity.ts'
import { shortText, Value } from '../datatypes/value.ts'
import { type Answer, readAll } from '../http.ts'
import { isTree, type Json, type Tree, textOf, treesOf } from '../json.ts'
import { tenant } from '../session.ts'

type Batch = { readonly answer: Answer; readonly entries: readonly Tree[] }

type Table = Search & {
  readonly title: string
  readonly columns: readonly Column[]
  /** Orders the loaded matches. Absent: the order of the server. */
  readonly order?: (a: Tree, b: Tree) => number
}

export function MemberPage({ id }: { readonly id: string }) {
  const tables = tablesOf(id)
  const [loaded, retry] = useLoaded(() => readAll([`/Patient/${id}`, ...tables.map(requestOf)]), `${id} ${tenant.value}`)
  const own = useOwnTotals(
    tables.map(({ path }) => path),
    `${id} ${tenant.value}`,
  )
  const answers = [...answersOf(loaded, ({ answer }) => answer), ...own.answers]
  const show = ({ answer, entries }: Batch) => {
    const error = refusalOf(entries[0], answer)
    const header = h(PatientHeader, { entry: entries[0], answer })
    if (error !== undefined && error.answer.status !== 403) return header
    return h(
      'div',
      null,
      header,
      tables.map((table, i) => h(TableSection, { key: table.title, table, entry: entries[i + 1], answer, own: own.totals[i] })),
    )
  }
  return h(Frame, { title: 'Member', answers, actions: h(PatientLinks, { id, here: 'member' }) }, h(Show<Batch>, { loaded, retry, show }))
}

type SectionProps = {
  readonly table: Table
  readonly entry: Tree | undefined
  readonly answer: Answer
  readonly own: number | undefined
}

function TableSection({ table, entry, answer, own }: SectionProps) {
  const { title, columns, order } = table
  const show = (found: readonly Tree[]) =>
    h(ResourceTable, { label: title, columns, rows: order === undefined ? found : found.toSorted(order) })
  return h(Section, { title, search: table, entry, answer, own, show })
}

/** Returns the sections in the order of the page. */
const tablesOf = (id: string): readonly Table[] => [
  {
    title: 'Coverage',
    path: `/Coverage?patient=${id}`,
    elements: 'status,type,class,payor,period,subscriberId,relationship',
    columns: [
      { name: 'Plan', value: ({ type, class: classes }) => shortText(type) || treesOf(classes).map(classText).join('; ') },
      { name: 'Payor', value: ({ payor }) => h(Value, { value: payor }) },
      { name: 'Period', value: ({ period }) => daysText(period), date: ({ period }) => period },
      { name: 'Subscriber', value: ({ subscriberId }) => shortText(subscriberId) },
      { name: 'Relationship', value: ({ relationship }) => shortText(relationship) },
      { name: 'Status', value: ({ status }) => shortText(status) },
    ],
  },
  {
    title: 'Explanations of benefit',
    path: `/ExplanationOfBenefit?patient=${id}&_sort=-created`,
    elements: 'status,use,type,outcome,created,billablePeriod,provider,insurer,total,payment,preAuthRefPeriod',
    order: (a, b) => (Date.parse(serviceDateOf(b)) || 0) - (Date.parse(serviceDateOf(a)) || 0),
    columns: [
      {
        name: 'Service date',
        value: ({ billablePeriod, created }) => daysText(billablePeriod) || dayText(created),
        date: ({ billablePeriod, created }) => billablePeriod ?? created,
      },
      { name: 'Total', isNumber: true, value: ({ total }) => h(Amounts, { total }) },
      { name: 'Payment', isNumber: true, value: ({ payment }) => moneyText(isTree(payment) ? payment.amount : undefined) },
      { name: 'Type', value: ({ type }) => shortText(type) },
      {
        name: 'Use',
        value: ({ use, preAuthRefPeriod }) => [shortText(use), ...treesOf(preAuthRefPeriod).map(daysText)].filter(Boolean).join(', '),
      },
      { name: 'Status', value: ({ status, outcome }) => [shortText(status), shortText(outcome)].filter(Boolean).join(', ') },
      { name: 'Provider', value: ({ provider }) => h(Value, { value: provider }) },
      { name: 'Insurer', value: ({ insurer }) => h(Value, { value: insurer }) },
    ],
  },
  {
    title: 'Claim responses',
    path: `/ClaimResponse?patient=${id}&_sort=-created`,
    elements: 'status,use,type,outcome,disposition,created,insurer,preAuthRef,preAuthPeriod,total,payment',
    order: (a, b) => Number(b.use === 'preauthorization') - Number(a.use === 'preauthorization'),
    columns: [
      { name: 'Created', value: ({ created }) => dayText(created), date: ({ created }) => created },
      { name: 'Use', value: ({ use }) => shortText(use) },
      { name: 'Type', value: ({ type }) => shortText(type) },
      { name: 'Outcome', value: ({ outcome, disposition }) => [shortText(outcome), shortText(disposition)].filter(Boolean).join(': ') },
      { name: 'Authorization', value: ({ preAuthRef }) => shortText(preAuthRef) },
      { name: 'Authorized', value: ({ preAuthPeriod }) => daysText(preAuthPeriod), date: ({ preAuthPeriod }) => preAuthPeriod },
      { name: 'Total', isNumber: true, value: ({ total }) => h(Amounts, { total }) },
      { name: 'Payment', isNumber: true, value: ({ payment }) => moneyText(isTree(payment) ? payment.amount : undefined) },
    ],
  },
  {
    title: 'Groups',
    path: `/Group?member=Patient/${id}`,
    // The members are left out: a Group may have many thousands of them.
    elements: 'name,type,actual,active,code,quantity,identifier',
    columns: [
      { name: 'Name', value: ({ name, identifier }) => shortText(name) || shortText(identifier) },
      { name: 'Code', value: ({ code }) => shortText(code) },
      { name: 'Active', value: ({ active }) => shortText(active) },
      { name: 'Size', isNumber: true, value: ({ quantity }) => shortText(quantity) },
    ],
  },
  {
    title: 'Consents',
    path: `/Consent?patient=${id}&_sort=-date`,
    elements: 'status,scope,category,dateTime,provision,organization',
    columns: [
      { name: 'Date', value: ({ dateTime }) => dayText(dateTime), date: ({ dateTime }) => dateTime },
      { name: 'Status', value: ({ status }) => shortText(status) },
      { name: 'Scope', value: ({ scope }) => shortText(scope) },
      { name: 'Category', value: ({ category }) => shortText(category) },
      { name: 'Rule', value: ({ provision }) => (isTree(provision) ? shortText(provision.type) : '') },
      {
        name: 'Period',
        value: ({ provision }) => (isTree(provision) ? daysText(provision.period) : ''),
        date: ({ provision }) => (isTree(provision) ? provision.period : undefined),
      },
    ],
  },
]

const classText = ({ name, value }: Tree): string => shortText(name) || shortText(value)

const serviceDateOf = ({ billablePeriod, created }: Tree): string =>
  textOf(isTree(billablePeriod) ? (billablePeriod.start ?? billablePeriod.end) : undefined) ?? textOf(created) ?? ''

const dayText = (value: Json | undefined): string => dateText(textOf(value) ?? '').slice(0, 10)

/** Returns a period as days: one day, or the first and the last one. */
function daysText(period: Json | undefined): string {
  if (!isTree(period)) return ''
  const [from, to] = [dayText(period.start), dayText(period.end)]
  if (from === to) return from
  if (to === '') return `since ${from}`
  return from === '' ? `until ${to}` : `${from} – ${to}`
}

const moneyText = (money: Json | undefined): string => (isTree(money) ? quantityText(money) : '')

/** Totals by category. The amounts keep their decimals. */
function Amounts({ total }: { readonly total: Json | undefined }) {
  const totals = treesOf(total)
  if (totals.length === 0) return null
  return h(
    'ul',
    { class: 'values' },
    totals.map(({ category, amount }, i) =>
      h('li', { key: i }, moneyText(amount), ' ', h('span', { class: 'quiet' }, shortText(category))),
    ),
  )
}
