/** Looks up a text of the search box: names of patients, organizations and practitioners, identifiers of patients, and ids of some types. */
import { h } from 'preact'
import { Frame } from '../components/frame.ts'
import { answersOf, Show, useLoaded } from '../components/loaded.ts'
import { shortText } from '../datatypes/value.ts'
import { type Answer, isDenied, readAll } from '../http.ts'
import { isTree, type Tree, treesOf } from '../json.ts'
import { linkTo } from '../place.ts'
import { tenant } from '../session.ts'

/** `isPartial`: whether the person may not search some of the types. */
type Found = { readonly answer: Answer; readonly resources: readonly Tree[]; readonly isPartial: boolean }

export function FindPage({ query }: { readonly query: string }) {
  const text = new URLSearchParams(query).get('text') ?? ''
  const [loaded, retry] = useLoaded(() => find(text), `${text} ${tenant.value}`)
  const answers = answersOf(loaded, ({ answer }) => answer)
  return h(Frame, { title: `Search for ${text}`, answers }, h(Show<Found>, { loaded, retry, show: (found) => h(FoundList, found) }))
}

async function find(text: string): Promise<Found> {
  const value = encodeURIComponent(text.replace(/([\\,$])/g, '\\$1'))
  const searches = [
    `Patient?name=${value}`,
    ...['Patient', 'Coverage', 'Organization', 'Practitioner'].map((type) => `${type}?identifier=${encodeURIComponent(text)}`),
    `Organization?name=${value}`,
    `Practitioner?name=${value}`,
  ]
  const ids = /^[A-Za-z0-9.-]{1,64}$/.test(text)
    ? ['Patient', 'Observation', 'Encounter', 'Condition', 'Coverage', 'Claim', 'ExplanationOfBenefit'].map((type) => `${type}?_id=${text}`)
    : []
  const { answer, entries } = await readAll([...searches, ...ids].map((search) => `${search}&_count=20`))
  const found = entries
    .flatMap(({ resource }) => treesOf(isTree(resource) ? resource.entry : undefined))
    .map(({ resource }) => resource)
    .filter(isTree)
  const known = new Set<string>()
  const resources = found.filter(
    ({ resourceType, id }) =>
      resourceType !== 'OperationOutcome' && !known.has(`${resourceType}/${id}`) && known.add(`${resourceType}/${id}`),
  )
  const isPartial = entries.some(isDenied)
  return { answer, resources, isPartial }
}

function FoundList({ resources, isPartial }: Pick<Found, 'resources' | 'isPartial'>) {
  return h(
    'div',
    null,
    isPartial && h('p', { class: 'quiet' }, 'Types that you may not search are left out.'),
    resources.length === 0 ? h('p', { class: 'nothing' }, NOTHING) : h(FoundResources, { resources }),
  )
}

const NOTHING =
  'Nothing found. The search covers names and identifiers of patients, practitioners and organizations, identifiers of coverages, and ids.'

function FoundResources({ resources }: Pick<Found, 'resources'>) {
  return h(
    'ul',
    { class: 'found' },
    resources.map((resource) => {
      const { resourceType, id, name, code, birthDate, identifier } = resource
      return h(
        'li',
        { key: `${resourceType}/${id}` },
        h('a', { href: linkTo(`/${resourceType}/${id}`), dir: 'auto' }, shortText(name ?? code) || `${resourceType}/${id}`),
        ' ',
        resourceType === 'Patient' &&
          h(
            'span',
            { class: 'cost' },
            h('a', { href: linkTo(`/Patient/${id}/chart`) }, 'Chart'),
            ' ',
            h('a', { href: linkTo(`/Patient/${id}/member`) }, 'Member'),
          ),
        h('div', { class: 'quiet' }, [resourceType, shortText(birthDate), shortText(identifier)].filter((each) => each !== '').join(' · ')),
      )
    }),
  )
}
