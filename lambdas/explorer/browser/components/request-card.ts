/** Request behind what a page shows: method, URL, time, bytes, curl, and for an administrator the plan of a search. */
import { h } from 'preact'
import { useState } from 'preact/hooks'
import { type Answer, ask, curlOf, type Request } from '../http.ts'
import { isTree, type Json, type Tree, textOf, treesOf } from '../json.ts'
import { seenAs } from '../see-as.ts'
import { session } from '../session.ts'
import { BASE, BASE_PATH } from '../settings.ts'
import { Problem } from './problem.ts'

export function RequestCards({ answers }: { readonly answers: readonly Answer[] }) {
  if (answers.length === 0) return null
  return h(
    'section',
    { class: 'requests', 'aria-label': 'Requests behind this page' },
    h('h2', null, 'Requests behind this page'),
    answers.map((answer, i) => h(RequestCard, { key: i, answer })),
  )
}

function RequestCard({ answer }: { readonly answer: Answer }) {
  const { request, status, ms, bytes } = answer
  const [plan, setPlan] = useState<readonly string[] | undefined>(undefined)
  const [error, setError] = useState<unknown>(undefined)
  const mayExplain = session.value.isAdministrator && seenAs.value === undefined
  const explain = () => planOf(answer).then(setPlan, setError)
  return h(
    'details',
    { class: 'request' },
    h(
      'summary',
      null,
      h('code', null, `${request.method} ${BASE_PATH}${decodedPath(request.path)}`),
      h('span', { class: 'cost' }, `${batchText(answer)}${status} · ${ms} ms · ${bytes.toLocaleString('en')} bytes`),
    ),
    h('pre', { tabIndex: 0 }, curlOf(request)),
    h(
      'p',
      { class: 'buttons' },
      h(CopyButton, { text: curlOf(request), name: 'Copy curl' }),
      h(CopyButton, { text: `${BASE}${request.path}`, name: 'Copy FHIR address' }),
      mayExplain &&
        searchesIn(answer).length > 0 &&
        h('button', { type: 'button', onClick: explain }, request.method === 'GET' ? 'Show the plan' : 'Show the plans'),
    ),
    error !== undefined && h(Problem, { error }),
    plan?.map((text, i) => h('pre', { key: i, tabIndex: 0 }, text)),
  )
}

/** Returns the number of requests in a batch, which its address does not show. */
const batchText = ({ body }: Answer): string =>
  isTree(body) && body.type === 'batch-response' ? `batch of ${treesOf(body.entry).length} · ` : ''

/** Sends the search, or the batch, again with `Prefer: explain`, and returns the texts about its plans. */
async function planOf({ request }: Answer): Promise<readonly string[]> {
  const explained = await ask({ ...request, headers: { ...request.headers, prefer: 'explain' } })
  return searchesIn(explained).flatMap(({ entry, name }) => {
    const outcomes = treesOf(entry)
      .map(({ resource }) => resource)
      .filter((resource): resource is Tree => isTree(resource) && resource.resourceType === 'OperationOutcome')
    const issues = outcomes.flatMap(({ issue }) => treesOf(issue))
    return issues.flatMap(({ details }) => (isTree(details) ? `${name}${textOf(details.text) ?? ''}` : []))
  })
}

/** `name`: path of the search in a batch, with a line break. */
type Result = { readonly entry: Json | undefined; readonly name: string }

/** Returns the results of the searches of a request: its own, or those of a batch that only reads. */
function searchesIn({ request, body }: Answer): readonly Result[] {
  if (!isTree(body)) return []
  if (body.type === 'searchset') return request.method === 'GET' ? [{ entry: body.entry, name: '' }] : []
  if (body.type !== 'batch-response' || !isBatch(request)) return []
  const sent = sentIn(request)
  // The page sends a batch again for its plans, so it must not change anything.
  if (!sent.every(({ method }) => method === 'GET')) return []
  return treesOf(body.entry).flatMap(({ resource }, i) =>
    isTree(resource) && resource.type === 'searchset'
      ? [{ entry: resource.entry, name: `${decodedPath(textOf(sent[i]?.url) ?? '')}\n` }]
      : [],
  )
}

/** Whether the request is a batch. The response to a PATCH of a stored Bundle may have the type of a batch, too. */
const isBatch = ({ method, path }: Request): boolean => method === 'POST' && /^\/?(?:\?|$)/.test(path)

/** Returns the requests in the body of a batch. A body that is no JSON counts as one request without a method. */
function sentIn({ body = '' }: Request): readonly Tree[] {
  try {
    return treesOf((JSON.parse(body) as Tree).entry).map((each) => (isTree(each.request) ? each.request : {}))
  } catch {
    return [{}]
  }
}

export function CopyButton({ text, name }: { readonly text: string; readonly name: string }) {
  const [outcome, setOutcome] = useState<string | undefined>(undefined)
  // Without https a browser has no clipboard.
  const copy = async () => navigator.clipboard.writeText(text)
  const onClick = () =>
    void copy().then(
      () => setOutcome('Copied'),
      () => setOutcome('Not copied: the browser forbids it'),
    )
  return h('button', { type: 'button', onClick }, outcome ?? name)
}

/** Returns the path as a person reads it. A path that cannot be decoded stays as it is. */
export function decodedPath(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}
