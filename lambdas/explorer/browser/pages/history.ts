/** Versions of a resource, of a type or of all resources. For a resource also the difference between two versions. */
import { type ComponentChild, h } from 'preact'
import { useState } from 'preact/hooks'
import { Frame } from '../components/frame.ts'
import { answersOf, Show, useLoaded } from '../components/loaded.ts'
import { Paging } from '../components/paging.ts'
import { Table } from '../components/table.ts'
import { VersionDifference } from '../components/version-difference.ts'
import { dateText } from '../datatypes/date-time.ts'
import { type Answer, read } from '../http.ts'
import { isTree, type Tree, textOf, treesOf } from '../json.ts'
import { go, linkTo } from '../place.ts'
import { tenant } from '../session.ts'

/** `type`: absent for the history of all types. `id`: absent for the history of a type. */
type Props = { readonly path: string; readonly query: string; readonly type?: string; readonly id?: string }

/** One version. `path`: of its resource. `resource`: absent for a deletion. `kind`: `created`, `updated` or `deleted`. */
type Version = {
  readonly path: string
  readonly versionId: string
  readonly time: string
  readonly kind: string
  readonly resource: Tree | undefined
}

export function HistoryPage({ path, query, type, id }: Props) {
  const { from, to, rest } = partsOf(query)
  const address = rest === '' ? path : `${path}?${rest}`
  const [loaded, retry] = useLoaded(() => read(address), `${address} ${tenant.value}`)
  const [others, setOthers] = useState<readonly Answer[]>([])
  const add = (answer: Answer) => setOthers((before) => [...before, answer])
  const answers = [...answersOf(loaded, (answer) => answer), ...others]
  const subject = [type, id === undefined ? undefined : decodeURIComponent(id)].filter((each) => each !== undefined).join('/')
  const show = ({ body }: Answer) => {
    const bundle = isTree(body) ? body : {}
    const versions = treesOf(bundle.entry).map(versionOf)
    const chosen = { from: from ?? versions[1]?.versionId ?? '', to: to ?? versions[0]?.versionId ?? '' }
    const extra = from === undefined && to === undefined ? '' : new URLSearchParams(chosen).toString()
    const choose = (next: Partial<typeof chosen>) =>
      go(`${path}?${new URLSearchParams([...new URLSearchParams(rest), ...Object.entries({ ...chosen, ...next })])}`, true)
    return h(
      'div',
      null,
      h('p', { class: 'facts', role: 'status' }, countText(bundle, versions.length)),
      id === undefined ? h(AllVersions, { versions }) : h(OwnVersions, { versions, ...chosen, choose }),
      h(Paging, { bundle, extra }),
      id !== undefined &&
        chosen.from !== '' &&
        h(VersionDifference, { ...chosen, path: path.replace(/\/_history$/, ''), known: knownOf(versions), add }),
    )
  }
  return h(
    Frame,
    { title: `History of ${subject || 'all resources'}`, answers, actions: subject && h(Links, { path, subject }) },
    h(Show<Answer>, { loaded, retry, show }),
  )
}

const Links = ({ path, subject }: { readonly path: string; readonly subject: string }) =>
  h('nav', { class: 'links', 'aria-label': 'About this history' }, h('a', { href: linkTo(path.replace(/\/_history$/, '')) }, subject))

/** Divides the query of the page: the chosen versions, and the query of the request. */
function partsOf(query: string): { readonly from?: string; readonly to?: string; readonly rest: string } {
  const parameters = new URLSearchParams(query)
  const [from, to] = [parameters.get('from'), parameters.get('to')]
  parameters.delete('from')
  parameters.delete('to')
  return { ...(from === null ? {} : { from }), ...(to === null ? {} : { to }), rest: parameters.toString() }
}

function versionOf({ request, response, resource, fullUrl }: Tree): Version {
  const { method, url } = isTree(request) ? request : {}
  const { status, etag, lastModified } = isTree(response) ? response : {}
  const { resourceType, id, meta } = isTree(resource) ? resource : {}
  const own = isTree(meta) ? meta : {}
  const isNew = textOf(status)?.startsWith('201') === true
  return {
    path: resourceType === undefined ? (textOf(url) ?? textOf(fullUrl) ?? '') : `${resourceType}/${id}`,
    versionId: /"(.*)"/.exec(textOf(etag) ?? '')?.[1] ?? textOf(own.versionId) ?? '',
    time: textOf(lastModified) ?? textOf(own.lastUpdated) ?? '',
    kind: method === 'DELETE' ? 'deleted' : isNew ? 'created' : 'updated',
    resource: isTree(resource) ? resource : undefined,
  }
}

const knownOf = (versions: readonly Version[]): ReadonlyMap<string, Tree | undefined> =>
  new Map(versions.map(({ versionId, resource }) => [versionId, resource]))

const countText = ({ total }: Tree, shown: number): string =>
  total === undefined ? `${shown} shown, total unknown` : `${Number(textOf(total)).toLocaleString('en')} in all, ${shown} shown`

const VersionLink = ({ version }: { readonly version: Version }) =>
  h('a', { href: linkTo(`/${version.path}/_history/${version.versionId}`) }, version.versionId)

const Time = ({ version }: { readonly version: Version }) => h('time', { title: version.time }, dateText(version.time))

const AllVersions = ({ versions }: { readonly versions: readonly Version[] }) =>
  h(Table, {
    name: 'Versions',
    columns: ['Resource', 'Version', 'Time', 'Kind'],
    rows: versions.map((version) => [
      h('a', { href: linkTo(`/${version.path}/_history`) }, version.path),
      h(VersionLink, { version }),
      h(Time, { version }),
      version.kind,
    ]),
  })

type Chosen = { readonly from: string; readonly to: string }
type OwnProps = Chosen & { readonly versions: readonly Version[]; readonly choose: (next: Partial<Chosen>) => void }

const OwnVersions = ({ versions, from, to, choose }: OwnProps) =>
  h(Table, {
    name: 'Versions',
    columns: ['Version', 'Time', 'Kind', 'From', 'To'],
    rows: versions.map((version) => {
      const radio = (name: keyof Chosen, chosen: string): ComponentChild =>
        h('input', {
          type: 'radio',
          name,
          'aria-label': `${name === 'from' ? 'From' : 'To'} version ${version.versionId}`,
          checked: chosen === version.versionId,
          onChange: () => choose({ [name]: version.versionId }),
        })
      return [h(VersionLink, { version }), h(Time, { version }), version.kind, radio('from', from), radio('to', to)]
    }),
  })
