/** Exports: their state, progress and files. An administrator sees those of all clients of the tenant. */
import { h } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { ExportForm } from '../components/export-form.ts'
import { Frame } from '../components/frame.ts'
import { Problem } from '../components/problem.ts'
import { decodedPath } from '../components/request-card.ts'
import { OffInView } from '../components/see-as.ts'
import { TableFrame } from '../components/table.ts'
import { dateText } from '../datatypes/date-time.ts'
import { type ExportJob as Job, jobsOf } from '../export-jobs.ts'
import { type Answer, ask, noted, Refusal, read } from '../http.ts'
import { isTree, type Tree, textOf, treesOf } from '../json.ts'
import { linkTo } from '../place.ts'
import { seenAs } from '../see-as.ts'
import { tenant } from '../session.ts'
import { BASE } from '../settings.ts'

/** Values of the parameter `state` in the address, with the states of the server. */
const STATES: Readonly<Record<string, string>> = { running: 'in-progress', complete: 'complete', failed: 'error' }
const NAMES: Readonly<Record<string, string>> = { 'in-progress': 'Running', complete: 'Complete', error: 'Failed' }
const DAY = 24 * 60 * 60 * 1000

export function ExportsPage({ query }: { readonly query: string }) {
  const parameters = new URLSearchParams(query)
  const name = parameters.get('state') ?? ''
  const state = Object.hasOwn(STATES, name) ? STATES[name] : undefined
  const days = /^[1-9]\d{0,4}$/.test(parameters.get('days') ?? '') ? Number(parameters.get('days')) : undefined
  const path = `/export?_count=100${state === undefined ? '' : `&state=${state}`}`
  const { answer, error, reload } = useJobs(path)
  const [others, setOthers] = useState<readonly Answer[]>([])
  const add = (other: Answer) => setOthers((before) => [...before, other].slice(-10))
  const since = days === undefined ? '' : new Date(Date.now() - days * DAY).toISOString()
  const all = answer === undefined ? [] : jobsOf(answer)
  const jobs = all.filter(({ start }) => start >= since)
  return h(
    Frame,
    {
      title: 'Exports',
      answers: [...(answer === undefined ? [] : [answer]), ...(error instanceof Refusal ? [error.answer] : []), ...others],
    },
    h(Filters, { parameters }),
    error !== undefined && h(Problem, { error, retry: reload }),
    answer === undefined && error === undefined && h('p', { class: 'loading', role: 'status' }, 'Loading …'),
    answer !== undefined && h('p', { class: 'facts', role: 'status' }, countText(jobs, state, days, all.length)),
    jobs.length > 0 && h(Jobs, { jobs, add, reload }),
    state === undefined && h(Schedules, { jobs: all }),
    seenAs.value === undefined ? h(ExportForm, { started: reload, add }) : h(OffInView, null),
  )
}

/**
 * Loads the list, and again while a listed job runs: after the seconds of Retry-After, and at least two. Stops when the page is left or a
 * request fails.
 */
function useJobs(path: string) {
  const key = `${path} ${tenant.value}`
  const [loaded, setLoaded] = useState<{ readonly key: string; readonly answer?: Answer; readonly error?: unknown }>({ key })
  const [turn, setTurn] = useState(0)
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined
    let isCurrent = true
    const load = async () => {
      try {
        const answer = await read(path)
        if (!isCurrent) return
        setLoaded({ key, answer })
        if (jobsOf(answer).some(({ state }) => state === 'in-progress')) timer = setTimeout(load, waitOf(answer))
      } catch (error) {
        if (isCurrent) setLoaded({ key, error })
      }
    }
    void load()
    return () => {
      isCurrent = false
      clearTimeout(timer)
    }
  }, [key, turn])
  const { answer, error } = loaded.key === key ? loaded : { answer: undefined, error: undefined }
  return { answer, error, reload: () => setTurn((before) => before + 1) }
}

const waitOf = ({ headers }: Answer): number => Math.max(2, Number(headers['retry-after'] ?? 10)) * 1_000

function Filters({ parameters }: { readonly parameters: URLSearchParams }) {
  const link = (name: string, value: string | undefined, text: string) => {
    const next = new URLSearchParams(parameters)
    if (value === undefined) next.delete(name)
    else next.set(name, value)
    const isCurrent = (parameters.get(name) ?? undefined) === value
    const address = next.size === 0 ? '/exports' : `/exports?${next}`
    return h('a', { href: linkTo(address), 'aria-current': isCurrent ? 'true' : undefined }, text)
  }
  return h(
    'div',
    { class: 'facts' },
    h(
      'nav',
      { class: 'links', 'aria-label': 'State' },
      link('state', undefined, 'All'),
      Object.entries(STATES).map(([name, state]) => link('state', name, NAMES[state]!)),
    ),
    h('nav', { class: 'links', 'aria-label': 'Period' }, link('days', undefined, 'Any time'), link('days', '7', 'Last 7 days')),
  )
}

function countText(jobs: readonly Job[], state: string | undefined, days: number | undefined, all: number): string {
  const kind = state === undefined ? '' : `${NAMES[state]!.toLowerCase()} `
  const period = days === undefined ? '' : ` in the last ${days} days`
  const count = jobs.length === 0 ? 'No' : jobs.length.toLocaleString('en')
  return `${count} ${kind}export${jobs.length === 1 ? '' : 's'}${period}${all === 100 ? ', among the newest 100' : ''}`
}

type Actions = { readonly add: (answer: Answer) => void; readonly reload: () => void }

const Jobs = ({ jobs, add, reload }: Actions & { readonly jobs: readonly Job[] }) =>
  h(
    TableFrame,
    { name: 'Exports', columns: ['Start', 'State', 'Actions', 'Request', 'Client', 'End'] },
    h(
      'tbody',
      null,
      jobs.map((job) => h(Row, { key: job.id, job, add, reload })),
    ),
  )

function Row({ job, add, reload }: Actions & { readonly job: Job }) {
  const [manifest, setManifest] = useState<Tree | undefined>(undefined)
  const [error, setError] = useState<unknown>(undefined)
  const path = `/export/${job.id}`
  const name = `the export of ${dateText(job.start)}`
  const showFiles = () =>
    noted(read(path), add).then(({ body }) => {
      setError(undefined)
      setManifest(isTree(body) ? body : {})
    }, setError)
  const remove = (question: string) => {
    if (!confirm(question)) return
    noted(ask({ method: 'DELETE', path }), add).then(reload, setError)
  }
  const button = (text: string, onClick: () => void, isDanger = false) =>
    h('button', { type: 'button', class: isDanger ? 'danger' : undefined, 'aria-label': `${text}: ${name}`, onClick }, text)
  return h(
    'tr',
    null,
    h('td', null, h('time', { dateTime: job.start, title: job.start }, dateText(job.start))),
    h('td', null, h(State, { job }), error !== undefined && h(Problem, { error }), manifest !== undefined && h(Files, { manifest })),
    h(
      'td',
      null,
      seenAs.value !== undefined
        ? h('span', { class: 'quiet' }, 'Not available in a view')
        : !job.isOwn
          ? h('span', { class: 'quiet' }, 'Started by another client or user')
          : h(
              'span',
              { class: 'buttons' },
              job.state === 'complete' && button('Show files', () => void showFiles()),
              job.state === 'in-progress'
                ? button('Cancel', () => remove(`Cancel ${name}?`), true)
                : button('Remove', () => remove(`Remove ${name} and its files?`), true),
            ),
    ),
    h('td', null, h('code', null, decodedPath(job.request.startsWith(BASE) ? job.request.slice(BASE.length) : job.request))),
    h('td', null, job.client, job.schedule !== '' && h('div', { class: 'quiet' }, `schedule ${job.schedule}`)),
    h('td', null, job.end !== '' && h('time', { dateTime: job.end, title: job.end }, dateText(job.end))),
  )
}

function State({ job: { state, progress, reason } }: { readonly job: Job }) {
  return h(
    'div',
    null,
    h('b', null, NAMES[state] ?? state),
    state === 'in-progress' && [
      ' ',
      h('progress', { max: 100, value: Number.parseInt(progress, 10) || 0, 'aria-label': 'Progress' }),
      h('div', { class: 'quiet' }, progress),
    ],
    reason !== '' && h('div', null, reason),
  )
}

/** Files of a complete job. Their links work without a token, so they are loaded only if the person asks for them. */
function Files({ manifest }: { readonly manifest: Tree }) {
  const groups = [
    ['', manifest.output],
    ['deleted: ', manifest.deleted],
    ['errors: ', manifest.error],
  ] as const
  const files = groups.flatMap(([kind, files]) => treesOf(files).map((file) => ({ kind, file })))
  if (files.length === 0) return h('p', { class: 'nothing' }, 'No resource matches, so there is no file.')
  return h(
    'ul',
    { class: 'values', 'aria-label': 'Files' },
    files.map(({ kind, file: { type, url, count } }, i) =>
      h(
        'li',
        { key: i },
        h('a', { href: safeLink(textOf(url)), download: '' }, `${kind}${textOf(type) ?? 'file'}`),
        h('span', { class: 'quiet' }, ` ${linesText(Number(textOf(count)))}`),
      ),
    ),
  )
}

const linesText = (count: number): string => `${count.toLocaleString('en')} ${count === 1 ? 'line' : 'lines'}`

/** Returns the URL if it begins with http or https, so that no link runs a script. */
const safeLink = (url: string | undefined): string | undefined => (url !== undefined && /^https?:\/\//.test(url) ? url : undefined)

/** Last run of each schedule. Only schedules with a run among the listed jobs are shown. */
function Schedules({ jobs }: { readonly jobs: readonly Job[] }) {
  const scheduled = jobs.filter(({ schedule }) => schedule !== '')
  const last = [...new Map(scheduled.toReversed().map((job) => [job.schedule, job])).values()]
  if (last.length === 0) return null
  return h(
    'section',
    { 'aria-label': 'Schedules' },
    h('h2', null, 'Schedules'),
    h(
      'ul',
      null,
      last.map(({ schedule, state, start }) =>
        h('li', { key: schedule }, h('b', null, schedule), ` last run ${dateText(start)}: ${(NAMES[state] ?? state).toLowerCase()}`),
      ),
    ),
  )
}
