/** Requests of the pages to the server. The page of requests lists each response with its cost. */
import { signal } from '@preact/signals'
import { isTree, type Json, parseJson, type Tree } from './json.ts'
import { seenAs, viewToken } from './see-as.ts'
import { accessToken, isWorthRenewal, renewIfDue, renewLogin, tenant } from './session.ts'
import { BASE, IS_OPEN } from './settings.ts'

/** Request of a page. `path`: below the base, query included. */
export type Request = {
  readonly method: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  /** Whether the request uses the person's own access also while a view is active. */
  readonly isOwn?: boolean
}

/** Response. `body`: parsed JSON; undefined if the text is no JSON. `ms`: from sending to the last byte. `bytes`: of the text in UTF-8. */
export type Answer = {
  readonly request: Request
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
  readonly body: Json | undefined
  readonly ms: number
  readonly bytes: number
  /** Client id or scopes of the view that the answer is for. Absent: the person's own access. */
  readonly seenAs?: string
}

/** Response with an error, or with status 0 if no response arrived. */
export class Refusal extends Error {
  readonly answer: Answer

  constructor(answer: Answer) {
    super(messageOf(answer))
    this.answer = answer
  }
}

/** Request with the cost of its answer, without the data. */
type Sent = Pick<Answer, 'request' | 'status' | 'ms'>

/** The latest requests, the newest first. They hold no answers, which may be large. */
export const requests = signal<readonly Sent[]>([])

const MOST_REQUESTS = 50

/**
 * Sends a request and returns its response, whatever the status. Throws Refusal if no response arrives, and Error if the server refuses the
 * active view. Never resolves if the login has to be renewed, because the browser leaves the page.
 */
export async function send(request: Request): Promise<Answer> {
  await renewIfDue()
  const seen = request.isOwn ? undefined : seenAs.value
  const token = seen === undefined ? accessToken() : await viewToken()
  const began = performance.now()
  const since = () => Math.round(performance.now() - began)
  try {
    const init: RequestInit = {
      method: request.method,
      headers: headersOf(request, token),
      cache: 'no-store',
      credentials: 'omit',
      redirect: 'error',
    }
    const response = await fetch(`${BASE}${request.path}`, request.body === undefined ? init : { ...init, body: request.body })
    const text = await response.text()
    const answer = {
      request,
      status: response.status,
      headers: Object.fromEntries(response.headers),
      text,
      body: bodyOf(text),
      ms: since(),
      bytes: new TextEncoder().encode(text).length,
      ...(seen === undefined ? {} : { seenAs: seen.name }),
    }
    const { status, ms } = answer
    requests.value = [{ request, status, ms }, ...requests.value].slice(0, MOST_REQUESTS)
    if (answer.status === 401 && isWorthRenewal()) await renewLogin()
    return answer
  } catch (error) {
    if (error instanceof Refusal) throw error
    throw new Refusal({ request, status: 0, headers: {}, text: (error as Error).message, body: undefined, ms: since(), bytes: 0 })
  }
}

/** Like `send`. Throws Refusal for every status from 400 on, and for a text that is no JSON, which a proxy may have sent. */
export async function ask(request: Request): Promise<Answer> {
  const answer = await send(request)
  if (answer.status >= 400 || (answer.text !== '' && answer.body === undefined)) throw new Refusal(answer)
  return answer
}

/** Passes the answer to `add`, also if it is a refusal. Settles like `data`. */
export async function noted<Data extends Answer | { readonly answer: Answer }>(
  data: Promise<Data>,
  add: (answer: Answer) => void,
): Promise<Data> {
  try {
    const received = await data
    add('answer' in received ? received.answer : received)
    return received
  } catch (error) {
    if (error instanceof Refusal) add(error.answer)
    throw error
  }
}

/** Reads a path below the base. Throws Refusal. */
export const read = (path: string): Promise<Answer> => ask({ method: 'GET', path })

/**
 * Sends a batch of GET requests as one request. Returns the answer, and the entries in the order of the paths. `isOwn`: with the person's own
 * access also while a view is active. Throws Refusal.
 */
export async function readAll(
  paths: readonly string[],
  isOwn = false,
): Promise<{ readonly answer: Answer; readonly entries: readonly Tree[] }> {
  const entry = paths.map((url) => ({ request: { method: 'GET', url: url.replace(/^\//, '') } }))
  const answer = await ask({
    method: 'POST',
    path: '/',
    headers: { 'content-type': 'application/fhir+json' },
    body: JSON.stringify({ resourceType: 'Bundle', type: 'batch', entry }),
    isOwn,
  })
  const bundle = isTree(answer.body) ? answer.body : {}
  return { answer, entries: (bundle.entry ?? []) as readonly Tree[] }
}

/** Whether the access of the person does not cover the request of this entry. */
export const isDenied = (entry: Tree | undefined): boolean => isTree(entry?.response) && String(entry.response.status).startsWith('403')

function headersOf({ headers = {} }: Request, token: string | undefined): Record<string, string> {
  return {
    accept: 'application/fhir+json',
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    ...(tenant.value === '' ? {} : { 'x-tenant-id': tenant.value }),
    ...headers,
  }
}

function bodyOf(text: string): Json | undefined {
  try {
    return text === '' ? undefined : parseJson(text)
  } catch {
    return undefined
  }
}

function messageOf({ status, text }: Answer): string {
  if (status === 0) return `The server did not answer (${text})`
  return status < 400 ? `The server answered ${status}, but with no JSON that the page can read` : `The server answered ${status}`
}

/** Returns the request as a curl command for a shell. The token is a variable, so that the command can be shared. */
export function curlOf({ method, path, headers = {}, body }: Request): string {
  const shown = { accept: 'application/fhir+json', ...(tenant.value === '' ? {} : { 'x-tenant-id': tenant.value }), ...headers }
  const parts = [
    'curl',
    ...(method === 'GET' ? [] : ['-X', method]),
    ...(IS_OPEN ? [] : ['-H "Authorization: Bearer $TOKEN"']),
    ...Object.entries(shown).map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`),
    ...(body === undefined ? [] : ['--data-binary', quoted(body)]),
    quoted(`${BASE}${path}`),
  ]
  return parts.join(' ')
}

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`
