/** Clinical chart of a patient: problems, medications, allergies, immunizations, observations and encounters. */
import { h } from 'preact'
import { useState } from 'preact/hooks'
import { Frame } from '../components/frame.ts'
import { type Loaded, Show, useLoaded } from '../components/loaded.ts'
import { ObservationGroups } from '../components/observation-groups.ts'
import { PatientHeader, PatientLinks } from '../components/patient-header.ts'
import { Issues } from '../components/problem.ts'
import { Denied, Fact, Folded, matchesOf, refusalOf, requestOf, type Search, Section } from '../components/section.ts'
import { Timeline } from '../components/timeline.ts'
import { codeableConceptText } from '../datatypes/codeable-concept.ts'
import { shortText } from '../datatypes/value.ts'
import { type Answer, read, readAll } from '../http.ts'
import { isTree, type Json, type Tree, textOf, treesOf } from '../json.ts'
import { groupsOf, momentOf, OBSERVATION_ELEMENTS, valuesOf } from '../observations.ts'
import { tenant } from '../session.ts'
import { BASE } from '../settings.ts'

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
    uncoded: { path: `/Observation?patient=${id}&code:missing=true&_sort=-date`, elements: OBSERVATION_ELEMENTS },
  }) satisfies Readonly<Record<string, Search>>

/** Values per code that the first request returns, for small plots. More would make its JSON slow to parse. */
const FIRST_VALUES = 5
const CODES = 100

export function ChartPage({ id }: { readonly id: string }) {
  const key = `${id} ${tenant.value}`
  const [batch, retry] = useLoaded(() => readAll([`/Patient/${id}`, ...Object.values(searchesOf(id)).map(requestOf)]), key)
  const [observations, retryObservations] = useLoaded(
    () =>
      readInTurn(
        `/Observation?patient=${id}&_group=code:code&_groupSort=-date&_groupCount=${FIRST_VALUES}&_count=${CODES}&_elements=${OBSERVATION_ELEMENTS}`,
      ),
    key,
  )
  const [others, setOthers] = useState<readonly Answer[]>([])
  const add = (answer: Answer) => setOthers((before) => [...before, answer])
  const answers = [
    ...(batch.state === 'done' ? [batch.data.answer] : []),
    ...(observations.state === 'done' ? [observations.data] : []),
    ...others,
  ]
  const show = ({ answer, entries }: Batch) => {
    const error = refusalOf(entries[0], answer)
    const header = h(PatientHeader, { entry: entries[0], answer })
    if (error !== undefined && error.answer.status !== 403) return header
    return h(
      'div',
      null,
      header,
      h(Lists, { id, answer, entries }),
      h(Observations, { key, id, loaded: observations, retry: retryObservations, add }),
      h(Rest, { id, answer, entries }),
    )
  }
  return h(
    Frame,
    { title: 'Chart', answers, actions: h(PatientLinks, { id, here: 'chart' }) },
    h(Show<Batch>, { loaded: batch, retry, show }),
  )
}

/** Reads a path and resolves in a later task, so that one task parses the answer and another one shows it. */
async function readInTurn(path: string): Promise<Answer> {
  const answer = await read(path)
  await new Promise((resolve) => setTimeout(resolve))
  return answer
}

type ListsProps = Batch & { readonly id: string }

function Lists({ id, answer, entries }: ListsProps) {
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
      show: (found) => h(Folded, { items: activeFirst(found, 'clinicalStatus').map(problem) }),
    }),
    h(Section, {
      title: 'Medications',
      search: searches.medications,
      entry: medications,
      answer,
      show: (found, bundle) => h(Folded, { items: activeFirst(found, 'status').map(medicationWith(bundle)) }),
    }),
    h(Section, {
      title: 'Allergies',
      search: searches.allergies,
      entry: allergies,
      answer,
      show: (found) => h(Folded, { items: activeFirst(found, 'clinicalStatus').map(allergy) }),
    }),
    h(Section, {
      title: 'Immunizations',
      search: searches.immunizations,
      entry: immunizations,
      answer,
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

/** Returns a verification status that differs from the usual one. */
const doubtOf = ({ verificationStatus }: Tree): string => {
  const code = codeOf(verificationStatus)
  return code === 'confirmed' ? '' : code
}

/** Returns the value of a choice such as `onset[x]` in one line. Times are cut to their day. */
function choiceText(resource: Tree, element: string): string {
  const name = Object.keys(resource).find((each) => each.startsWith(element) && /^[A-Z]/.test(each.slice(element.length)))
  const text = name === undefined ? '' : shortText(resource[name])
  return name === `${element}DateTime` ? text.slice(0, 10) : text
}

const after = (word: string, text: string): string => (text === '' ? '' : `${word} ${text}`)

function problem(resource: Tree) {
  const onset = choiceText(resource, 'onset') || shortText(resource.recordedDate).slice(0, 10)
  const facts = [
    codeOf(resource.clinicalStatus),
    doubtOf(resource),
    after('since', onset),
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
      shortText(authoredOn).slice(0, 10),
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
    after('criticality', codeOf(resource.criticality)),
    reactions.map(({ manifestation }) => shortText(manifestation)).join('; '),
  ]
  return h(Fact, { key: resource.id, resource, name, facts })
}

function immunization(resource: Tree) {
  const facts = [resource.status === 'completed' ? '' : codeOf(resource.status), choiceText(resource, 'occurrence')]
  return h(Fact, { key: resource.id, resource, name: shortText(resource.vaccineCode), facts })
}

type ObservationsProps = {
  readonly id: string
  readonly loaded: Loaded<Answer>
  readonly retry: () => void
  readonly add: (answer: Answer) => void
}

function Observations({ id, loaded, retry, add }: ObservationsProps) {
  const [more, setMore] = useState<readonly Answer[]>([])
  const [error, setError] = useState<unknown>(undefined)
  const show = (answer: Answer) => {
    const bundles = [answer, ...more].map(({ body }) => (isTree(body) ? body : {}))
    const groups = bundles.flatMap(groupsOf)
    const issues = bundles.flatMap(({ entry }) =>
      treesOf(entry).flatMap(({ resource }) =>
        isTree(resource) && resource.resourceType === 'OperationOutcome' ? treesOf(resource.issue) : [],
      ),
    )
    const next = textOf(treesOf(bundles.at(-1)?.link).find(({ relation }) => relation === 'next')?.url)
    const loadMore = (url: string) =>
      readInTurn(url.slice(BASE.length)).then((further) => {
        add(further)
        setMore((before) => [...before, further])
      }, setError)
    return h(
      'div',
      null,
      issues.length > 0 && h(Issues, { issues }),
      groups.length === 0 ? h('p', { class: 'quiet' }, 'Nothing is recorded.') : h(ObservationGroups, { groups, patient: id, add }),
      error !== undefined && h(Denied, { error }),
      next?.startsWith(BASE) && h('button', { type: 'button', onClick: () => void loadMore(next) }, 'Show further measurements'),
    )
  }
  return h(
    'section',
    { 'aria-label': 'Observations' },
    h('h2', null, 'Observations'),
    loaded.state === 'failed' ? h(Denied, { error: loaded.error, retry }) : h(Show<Answer>, { loaded, retry, show }),
  )
}

function uncodedItem(resource: Tree) {
  const values = valuesOf(resource).map(({ name, text }) => `${name} ${text}`.trim())
  return h(Fact, { key: resource.id, resource, name: shortText(resource.code), facts: [...values, shortText(momentOf(resource))] })
}

/** Observations without a code, which the groups lack, and encounters. */
function Rest({ id, answer, entries }: ListsProps) {
  const searches = searchesOf(id)
  const [, , , , , encounters, uncoded] = entries
  const hasUncoded = isTree(uncoded?.resource) && matchesOf(uncoded.resource).length > 0
  return h(
    'div',
    null,
    hasUncoded &&
      h(Section, {
        title: 'Observations without a code',
        search: searches.uncoded,
        entry: uncoded,
        answer,
        show: (found) => h(Folded, { items: found.map(uncodedItem) }),
      }),
    h(Section, {
      title: 'Encounters',
      search: searches.encounters,
      entry: encounters,
      answer,
      show: (found) => h(Timeline, { encounters: found }),
    }),
  )
}
