/** Status of the service, for administrators: lag of the index, rebuilds, custom parameters, unindexable versions and running exports. */
import { h } from 'preact'
import { useState } from 'preact/hooks'
import { AdministratorsOnly } from '../components/administrators-only.ts'
import { Frame } from '../components/frame.ts'
import { answersOf, Show } from '../components/loaded.ts'
import { usePolled } from '../components/polled.ts'
import { RunningExports } from '../components/running-exports.ts'
import { Table } from '../components/table.ts'
import type { Answer } from '../http.ts'
import {
  type IndexStatus,
  isIndexing,
  lagText,
  type ParameterState,
  progressText,
  type Rebuild,
  readIndexStatus,
  type Unindexable,
} from '../index-status.ts'
import { linkTo } from '../place.ts'
import { session, tenant } from '../session.ts'

export const StatusPage = () => (session.value.isAdministrator ? h(Status, null) : h(AdministratorsOnly, { title: 'Status' }))

function Status() {
  const [loaded, retry] = usePolled(readIndexStatus, `status ${tenant.value}`, isIndexing)
  const [exports, setExports] = useState<Answer | undefined>(undefined)
  return h(
    Frame,
    { title: 'Status', answers: [...answersOf(loaded, ({ answer }) => answer), ...(exports === undefined ? [] : [exports])] },
    h(Show<IndexStatus>, { loaded, retry, show: (status) => h(Sections, { status, retry }) }),
    h('h2', null, 'Exports'),
    h(RunningExports, { add: setExports }),
  )
}

const Sections = ({ status, retry }: { readonly status: IndexStatus; readonly retry: () => void }) =>
  h(
    'div',
    null,
    h('h2', null, 'Search index'),
    h('p', { role: 'status' }, lagText(status.lag), '.'),
    h(
      'p',
      { class: 'buttons' },
      isIndexing(status)
        ? h('span', { class: 'quiet' }, 'The index is being updated. This page loads again every few seconds.')
        : h('button', { type: 'button', onClick: retry }, 'Update'),
    ),
    h('h2', null, 'Rebuilds'),
    h(Rebuilds, { rebuilds: status.rebuilds }),
    h('h2', null, 'Custom parameters'),
    h(Parameters, { parameters: status.parameters }),
    h('h2', null, 'Unindexable versions'),
    h(UnindexableVersions, { versions: status.unindexable }),
  )

function Rebuilds({ rebuilds }: { readonly rebuilds: readonly Rebuild[] }) {
  if (rebuilds.length === 0) return h('p', { class: 'nothing' }, 'No rebuild is running.')
  return h(Table, {
    name: 'Rebuilds',
    columns: ['Type', 'Documents', 'Progress', 'Searches'],
    rows: rebuilds.map((rebuild) => [
      rebuild.type,
      progressText(rebuild),
      h('progress', {
        'aria-label': `Progress of ${rebuild.type}`,
        ...(rebuild.total === undefined ? {} : { max: Math.max(rebuild.total, 1), value: rebuild.done }),
      }),
      rebuild.isSearched ? 'answered' : 'refused until it is done',
    ]),
  })
}

function Parameters({ parameters }: { readonly parameters: readonly ParameterState[] }) {
  if (parameters.length === 0) return h('p', { class: 'nothing' }, 'No parameter is defined.')
  return h(Table, {
    name: 'Custom parameters',
    columns: ['Parameter', 'Type', 'Code', 'State'],
    rows: parameters.map(({ id, base, code, state }) => [h('a', { href: linkTo(`/SearchParameter/${id}`) }, id), base, code, state]),
  })
}

function UnindexableVersions({ versions }: { readonly versions: readonly Unindexable[] }) {
  if (versions.length === 0) return h('p', { class: 'nothing' }, 'No version failed to be indexed.')
  return h(Table, {
    name: 'Unindexable versions',
    columns: ['Version', 'Reason'],
    rows: versions.map(({ path, reason }) => [h('a', { href: linkTo(`/${path}`) }, path), reason]),
  })
}
