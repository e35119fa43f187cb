/** Request behind what a page shows: method, URL, time, bytes, curl, and for an administrator the plan of a search. */
import { h } from 'preact'
import { useState } from 'preact/hooks'
import { type Answer, ask, curlOf } from '../http.ts'
import { isTree, type Tree, textOf, treesOf } from '../json.ts'
import { seenAs } from '../see-as.ts'
import { session } from '../session.ts'
import { BASE, BASE_PATH } from '../settings.ts'
import { Problem } from './problem.ts'

export function RequestCards({ answers }: { readonly answers: readonly Answer[] }) {
  if (answers.length === 0) return null
  return h(
    'section',
    { class: 'requests', 'aria-label': 'Requests behind this page' },
    answers.map((answer, i) => h(RequestCard, { key: i, answer })),
  )
}

function RequestCard({ answer }: { readonly answer: Answer }) {
  const { request, status, ms, bytes } = answer
  const [plan, setPlan] = useState<readonly string[] | undefined>(undefined)
  const [error, setError] = useState<unknown>(undefined)
  const isSearch = request.method === 'GET' && isTree(answer.body) && answer.body.type === 'searchset'
  const explain = () => planOf(answer).then(setPlan, setError)
  return h(
    'details',
    { class: 'request' },
    h(
      'summary',
      null,
      h('code', null, `${request.method} ${BASE_PATH}${decodedPath(request.path)}`),
      h('span', { class: 'cost' }, `${status} · ${ms} ms · ${bytes.toLocaleString('en')} bytes`),
    ),
    h('pre', { tabIndex: 0 }, curlOf(request)),
    h(CopyButton, { text: curlOf(request), name: 'Copy curl' }),
    h(CopyButton, { text: `${BASE}${request.path}`, name: 'Copy FHIR address' }),
    isSearch &&
      session.value.isAdministrator &&
      seenAs.value === undefined &&
      h('button', { type: 'button', onClick: explain }, 'Show the plan'),
    error !== undefined && h(Problem, { error }),
    plan?.map((text, i) => h('pre', { key: i, tabIndex: 0 }, text)),
  )
}

/** Sends the search again with `Prefer: explain`, and returns the texts about its plan. */
async function planOf({ request }: Answer): Promise<readonly string[]> {
  const { body } = await ask({ ...request, headers: { ...request.headers, prefer: 'explain' } })
  const outcomes = treesOf(isTree(body) ? body.entry : undefined)
    .map(({ resource }) => resource)
    .filter((resource): resource is Tree => isTree(resource) && resource.resourceType === 'OperationOutcome')
  return outcomes.flatMap(({ issue }) => treesOf(issue)).flatMap(({ details }) => (isTree(details) ? (textOf(details.text) ?? []) : []))
}

export function CopyButton({ text, name }: { readonly text: string; readonly name: string }) {
  const [isDone, setDone] = useState(false)
  const copy = () => navigator.clipboard.writeText(text).then(() => setDone(true))
  return h('button', { type: 'button', onClick: () => void copy() }, isDone ? 'Copied' : name)
}

/** Returns the path as a person reads it. A path that cannot be decoded stays as it is. */
export function decodedPath(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}
