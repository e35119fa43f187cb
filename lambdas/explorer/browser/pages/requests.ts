/** Console for any request to the server, with the recent requests of this tab. */
import { signal } from '@preact/signals'
import { h } from 'preact'
import { useEffect } from 'preact/hooks'
import { Frame } from '../components/frame.ts'
import { JsonView } from '../components/json-view.ts'
import { Problem } from '../components/problem.ts'
import { decodedPath } from '../components/request-card.ts'
import { OffInView } from '../components/see-as.ts'
import { draftOf, setDraft } from '../draft.ts'
import { type Answer, Refusal, type Request, requests, send } from '../http.ts'
import { seenAs } from '../see-as.ts'
import { tenant } from '../session.ts'
import { BASE, BASE_PATH } from '../settings.ts'

/** Text of the fields. `headers`: one `name: value` per line. */
type Form = { readonly method: string; readonly path: string; readonly headers: string; readonly body: string }

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS']
const WITHOUT_BODY: ReadonlySet<string> = new Set(['GET', 'HEAD'])

/** Answer with the view and the tenant in which the person sent the request. */
type Answered = { readonly answer: Answer; readonly access: string }

/** The form and its response stay while other pages are open, until a reload. The browser stores the form while it renews a login. */
const form = signal<Form>({ method: 'GET', path: '/Patient?_count=5', headers: '', body: '' })
const answered = signal<Answered | undefined>(undefined)
const failed = signal<unknown>(undefined)
const isBusy = signal(false)

/** Name of the form among the unsaved texts. */
const DRAFT = '/requests'

export function RequestsPage() {
  // An answer of another view or tenant would look like data that the current one shows.
  const answer = answered.value?.access === accessNow() ? answered.value.answer : undefined
  useEffect(() => {
    const draft = draftOf(DRAFT)
    if (draft !== undefined) form.value = JSON.parse(draft.text) as Form
  }, [])
  return h(
    Frame,
    { title: 'Requests', answers: answer === undefined ? [] : [answer] },
    h(RequestForm, null),
    isBusy.value && h('p', { class: 'loading', role: 'status' }, 'Waiting for the answer …'),
    failed.value !== undefined && h(Problem, { error: failed.value }),
    answer !== undefined && h(AnswerView, { answer }),
    h(RecentRequests, null),
  )
}

const accessNow = (): string => JSON.stringify([seenAs.value?.name, tenant.value])

async function submit(event: Event): Promise<void> {
  event.preventDefault()
  const access = accessNow()
  isBusy.value = true
  failed.value = undefined
  answered.value = undefined
  try {
    answered.value = { answer: await send(requestOf(form.value)), access }
  } catch (error) {
    if (error instanceof Refusal) answered.value = { answer: error.answer, access }
    failed.value = error
  } finally {
    isBusy.value = false
  }
}

function requestOf({ method, path, headers: lines, body }: Form): Request {
  const headers = headersOf(lines)
  if (WITHOUT_BODY.has(method) || body.trim() === '') return { method, path: pathOf(path), headers }
  const type = headers['content-type'] ?? contentTypeOf(method, path, body)
  return { method, path: pathOf(path), headers: { ...headers, 'content-type': type }, body }
}

/** Returns the path below the base. The person may have typed the whole address. */
function pathOf(text: string): string {
  const start = [`${BASE}/`, ...(BASE_PATH === '' ? [] : [`${BASE_PATH}/`])].find((each) => text.trim().startsWith(each)) ?? ''
  const path = text.trim().slice(start.length)
  return path.startsWith('/') ? path : `/${path}`
}

/** Throws Error for a line that is no header. */
function headersOf(lines: string): Readonly<Record<string, string>> {
  const pairs = lines
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => {
      const [, name, value] = /^\s*([\w!#$%&'*+.^`|~-]+)\s*:\s*(.*?)\s*$/.exec(line) ?? []
      if (name === undefined) throw new Error(`"${line}" is not a header: write "name: value"`)
      return [name.toLowerCase(), value!] as const
    })
  return Object.fromEntries(pairs)
}

function contentTypeOf(method: string, path: string, body: string): string {
  if (/\/_search(?:\?|$)/.test(path)) return 'application/x-www-form-urlencoded'
  return method === 'PATCH' && body.trim().startsWith('[') ? 'application/json-patch+json' : 'application/fhir+json'
}

/** Whether the request changes a resource. Searches and operations by POST do not count: the server refuses those that a view may not use. */
const changes = (method: string, path: string): boolean =>
  ['PUT', 'PATCH', 'DELETE'].includes(method) || (method === 'POST' && /^\/[A-Z]\w*\/?(?:\?|$)/.test(pathOf(path)))

function RequestForm() {
  const { method, path, headers, body } = form.value
  const change = (name: keyof Form) => (event: Event) => {
    form.value = { ...form.value, [name]: (event.currentTarget as HTMLInputElement).value }
    setDraft({ path: DRAFT, text: JSON.stringify(form.value), etag: undefined })
  }
  const isOff = seenAs.value !== undefined && changes(method, path)
  /** Enter in the field sends only GET and HEAD. Other methods need the button. */
  const holdWrites = (event: KeyboardEvent) => {
    if (event.key === 'Enter' && !WITHOUT_BODY.has(method)) event.preventDefault()
  }
  return h(
    'form',
    { class: 'console', onSubmit: (event: Event) => void submit(event) },
    h(
      'p',
      { class: 'query' },
      h(
        'select',
        { 'aria-label': 'Method', value: method, onChange: change('method') },
        METHODS.map((each) => h('option', { key: each, value: each }, each)),
      ),
      h(
        'label',
        null,
        'Path below the base',
        h('input', { class: 'wide', value: path, spellcheck: false, onInput: change('path'), onKeyDown: holdWrites }),
      ),
      h('button', { type: 'submit', disabled: isBusy.value || isOff }, 'Send'),
    ),
    isOff && h(OffInView, null),
    h(
      'label',
      null,
      'Headers, one per line (those of login and tenant are added)',
      h('textarea', { rows: 2, spellcheck: false, placeholder: 'Prefer: handling=strict', value: headers, onInput: change('headers') }),
    ),
    !WITHOUT_BODY.has(method) &&
      h('label', null, 'Body', h('textarea', { rows: 12, spellcheck: false, value: body, onInput: change('body') })),
  )
}

/** Maximum bytes of a JSON response that is shown indented. A longer one is shown as it was sent. */
const MOST_INDENTED = 1_000_000

function AnswerView({ answer: { status, headers, ms, bytes, body, text } }: { readonly answer: Answer }) {
  if (status === 0) return null
  return h(
    'section',
    { 'aria-label': 'Answer' },
    h('div', { role: 'status' }, h('h2', null, `Status ${status}`)),
    h('p', { class: 'facts' }, h('span', null, `${ms} ms`), h('span', null, `${bytes.toLocaleString('en')} bytes`)),
    h(
      'dl',
      { class: 'elements' },
      Object.entries(headers).map(([name, value]) => h('div', { key: name }, h('dt', null, name), h('dd', null, value))),
    ),
    body !== undefined && bytes <= MOST_INDENTED
      ? h(JsonView, { value: body })
      : text !== '' && h('pre', { tabIndex: 0, dir: 'auto' }, text),
  )
}

function RecentRequests() {
  const fill = ({ method, path, headers = {}, body = '' }: Request) => {
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
    form.value = { method, path, headers: lines.join('\n'), body }
    scrollTo(0, 0)
  }
  return h(
    'section',
    { 'aria-label': 'Recent requests' },
    h('h2', null, 'Recent requests'),
    requests.value.length === 0 && h('p', { class: 'nothing' }, 'This tab has sent no request yet.'),
    h(
      'ul',
      { class: 'recent' },
      requests.value.map(({ request, status, ms }, i) =>
        h(
          'li',
          { key: i },
          h('button', { type: 'button', class: 'plain', onClick: () => fill(request) }, `${request.method} ${decodedPath(request.path)}`),
          ' ',
          h('span', { class: 'cost' }, `${status} · ${ms} ms`),
        ),
      ),
    ),
  )
}
