/** Clinical chart of a patient: problems, medications, allergies, immunizations, observations and encounters. */
import { h } from 'preact'
import { useState } from 'preact/hooks'
import { Frame } from '../components/frame.ts'
import { answersOf, Show, useLoaded } from '../components/loaded.ts'
import { ObservationSection, readGroups } from '../components/observation-section.ts'
import { PatientHeader, PatientLinks } from '../components/patient-header.ts'
import { type Dated, Fact, Folded, refusalOf, requestOf, type Search, Section, useOwnTotals } from '../components/section.ts'
import { Timeline } from '../components/timeline.ts'
import { codeableConceptText } from '../datatypes/codeable-concept.ts'
import { originalOf } from '../datatypes/date-time.ts'
import { shortText } from '../datatypes/value.ts'
import { type Answer, readAll } from '../http.ts'
import { isTree, type Json, type Tree, textOf, treesOf } from '../json.ts'
import { tenant } from '../session.ts'

type Batch = { readonly answer: Answer; readonly entries: readonly Tree[] }

/** Searches of the batch, in the order of its entries after the patient. */
const searchesOf = (id: string) =>
  ({
    problems: {
      path: `/Condition?patient=${id}&_sort=-onset-date`,
      elements: 'code,clinicalStatus,verificationStatus,onset,abatement,recordedDate',
    },
    medications: {
      path: `/MedicationRequest?patient=${id}&_sort=-authoredon&_include=MedicationRequest:medication`,
      elements: 'status,intent,medication,authoredOn,dosageInstruction,code',
    },
    allergies: {
      path: `/AllergyIntolerance?patient=${id}&_sort=-date`,
      elements: 'code,clinicalStatus,verificationStatus,criticality,reaction,recordedDate',
    },
    immunizations: { path: `/Immunization?patient=${id}&_sort=-date`, elements: 'status,vaccineCode,occurrence' },
    encounters: {
      path: `/Encounter?patient=${id}&_sort=-date`,
      elements: 'status,class,type,period,reasonCode,serviceProvider',
    },
  }) satisfies Readonly<Record<string, Search>>

export function ChartPage({ id }: { readonly id: string }) {
  const key = `${id} ${tenant.value}`
  const [batch, retry] = useLoaded(() => readAll([`/Patient/${id}`, ...Object.values(searchesOf(id)).map(requestOf)]), key)
  const [observations, retryObservations] = useLoaded(() => readGroups(id), key)
  const own = useOwnTotals([...Object.values(searchesOf(id)).map(({ path }) => path), `/Observation?patient=${id}`], key)
  const [others, setOthers] = useState<readonly Answer[]>([])
  const add = (answer: Answer) => setOthers((before) => [...before, answer])
  const answers = [...answersOf(batch, ({ answer }) => answer), ...answersOf(observations, (answer) => answer), ...own.answers, ...others]
  const show = ({ answer, entries }: Batch) => {
    const error = refusalOf(entries[0], answer)
    const header = h(PatientHeader, { entry: entries[0], answer })
    if (error !== undefined && error.answer.status !== 403) return header
    return h(
      'div',
      null,
      header,
      h(Lists, { id, answer, entries, totals: own.totals }),
      h(ObservationSection, { key, patient: id, loaded: observations, retry: retryObservations, own: own.totals[5], add }),
      h(Section, {
        title: 'Encounters',
        search: searchesOf(id).encounters,
        entry: entries[5],
        answer,
        own: own.totals[4],
        show: (found) => h(Timeline, { encounters: found }),
      }),
    )
  }
  return h(
    Frame,
    { title: 'Chart', answers, actions: h(PatientLinks, { id, here: 'chart' }) },
    h(Show<Batch>, { loaded: batch, retry, show }),
  )
}

type ListsProps = Batch & { readonly id: string; readonly totals: readonly (number | undefined)[] }

function Lists({ id, answer, entries, totals }: ListsProps) {
  const searches = searchesOf(id)
  const [, problems, medications, allergies, immunizations] = entries
  return h(
    'div',
    { class: 'sections' },
    h(Section, {
      title: 'Problems',
      search: searches.problems,
      entry: problems,
      answer,
      own: totals[0],
      show: (found) => h(Folded, { items: activeFirst(found, 'clinicalStatus').map(problem) }),
    }),
    h(Section, {
      title: 'Medications',
      search: searches.medications,
      entry: medications,
      answer,
      own: totals[1],
      show: (found, bundle) => h(Folded, { items: activeFirst(found, 'status').map(medicationWith(bundle)) }),
    }),
    h(Section, {
      title: 'Allergies',
      search: searches.allergies,
      entry: allergies,
      answer,
      own: totals[2],
      show: (found) => h(Folded, { items: activeFirst(found, 'clinicalStatus').map(allergy) }),
    }),
    h(Section, {
      title: 'Immunizations',
      search: searches.immunizations,
      entry: immunizations,
      answer,
      own: totals[3],
      show: (found) => h(Folded, { items: found.map(immunization) }),
    }),
  )
}

/** Returns the active resources before the others, each part in the order of the server. */
function activeFirst(resources: readonly Tree[], element: string): readonly Tree[] {
  const isActive = (resource: Tree) => ['active', 'recurrence', 'relapse'].includes(codeOf(resource[element]))
  return [...resources.filter(isActive), ...resources.filter((each) => !isActive(each))]
}

/** Returns the code of a CodeableConcept or of a code, such as `active`. */
const codeOf = (value: Json | undefined): string =>
  isTree(value) ? (textOf(treesOf(value.coding)[0]?.code) ?? codeableConceptText(value)) : (textOf(value) ?? '')

/** Returns the code of the verification status, or an empty text if it is `confirmed`. */
const doubtOf = ({ verificationStatus }: Tree): string => {
  const code = codeOf(verificationStatus)
  return code === 'confirmed' ? '' : code
}

/** Returns the value of a choice such as `onset[x]` in one line. Times are cut to their day. */
function choiceText(resource: Tree, element: string): Dated {
  const name = Object.keys(resource).find((each) => each.startsWith(element) && /^[A-Z]/.test(each.slice(element.length)))
  if (name === `${element}DateTime`) return dayOf(resource[name])
  return name === undefined ? { text: '', original: undefined } : { text: shortText(resource[name]), original: originalOf(resource[name]) }
}

const dayOf = (value: Json | undefined): Dated => ({ text: shortText(value).slice(0, 10), original: originalOf(value) })

const after = (word: string, { text, original }: Dated): Dated => ({ text: text === '' ? '' : `${word} ${text}`, original })

function problem(resource: Tree) {
  const onset = choiceText(resource, 'onset')
  const facts = [
    codeOf(resource.clinicalStatus),
    doubtOf(resource),
    after('since', onset.text === '' ? dayOf(resource.recordedDate) : onset),
    after('until', choiceText(resource, 'abatement')),
  ]
  return h(Fact, { key: resource.id, resource, name: shortText(resource.code), facts })
}

const medicationWith = (bundle: Tree) => {
  const included = new Map(
    treesOf(bundle.entry).flatMap(({ resource }) => (isTree(resource) ? [[pathOf(resource), resource] as const] : [])),
  )
  return (resource: Tree) => {
    const { medicationReference, medicationCodeableConcept, status, authoredOn, dosageInstruction } = resource
    const reference = isTree(medicationReference) ? (textOf(medicationReference.reference) ?? '') : ''
    const contained = treesOf(resource.contained).find(({ id }) => reference === `#${id}`)
    const code = medicationCodeableConcept ?? (contained ?? included.get(reference))?.code
    const facts = [
      codeOf(status),
      treesOf(dosageInstruction)
        .flatMap(({ text }) => textOf(text) ?? [])
        .join('; '),
      dayOf(authoredOn),
    ]
    return h(Fact, { key: resource.id, resource, name: shortText(code ?? medicationReference), facts })
  }
}

const pathOf = ({ resourceType, id }: Tree): string => `${resourceType}/${id}`

function allergy(resource: Tree) {
  const reactions = treesOf(resource.reaction)
  const name = shortText(resource.code) || reactions.map(({ substance }) => shortText(substance)).find(Boolean) || ''
  const facts = [
    codeOf(resource.clinicalStatus),
    doubtOf(resource),
    after('criticality', { text: codeOf(resource.criticality), original: undefined }),
    reactions.map(({ manifestation }) => shortText(manifestation)).join('; '),
  ]
  return h(Fact, { key: resource.id, resource, name, facts })
}

function immunization(resource: Tree) {
  const facts = [resource.status === 'completed' ? '' : codeOf(resource.status), choiceText(resource, 'occurrence')]
  return h(Fact, { key: resource.id, resource, name: shortText(resource.vaccineCode), facts })
}
