/**
 * What CloudFront's functions do to a request.
 * https://docs.aws.amazon.com/AmazonCloudFront/latest/DeveloperGuide/functions-event-structure.html
 */
import type { IncomingHttpHeaders } from 'node:http'
import { runInNewContext } from 'node:vm'

export type Headers = Readonly<Record<string, string>>

/** What becomes of a request for this URL: its URL, and the headers that are set; or an answer. */
export type Viewer = (
  url: string,
  headers: IncomingHttpHeaders,
) => { readonly url: string; readonly headers: Headers } | { readonly status: number; readonly headers: Headers; readonly body: string }

type Value = { value: string; multiValue?: readonly { value: string }[] }
type Viewed = {
  readonly uri: string
  readonly querystring: Readonly<Record<string, Value>>
  readonly headers: Readonly<Record<string, { readonly value: string }>>
}

type Answered = { readonly statusCode: number; readonly headers?: Viewed['headers']; readonly body?: { readonly data: string } }

/** The function of the template does to the request what CloudFront lets it do. */
export function viewerOf(code: string): Viewer {
  return (url, requestHeaders) => {
    const [uri, query = ''] = [url.split('?', 1)[0]!, url.includes('?') ? url.slice(url.indexOf('?') + 1) : '']
    const all = Object.fromEntries(Object.entries(requestHeaders).map(([name, value]) => [name, { value: String(value) }]))
    const request = { method: 'GET', uri, querystring: parsed(query), headers: { ...all }, cookies: {} }
    const event = { version: '1.0', context: { eventType: 'viewer-request' }, viewer: { ip: '127.0.0.1' }, request }
    const result = runInNewContext(`${code}\n;handler(event)`, { event, Buffer }) as Viewed | Answered
    if ('statusCode' in result) return { status: result.statusCode, headers: valuesOf(result.headers ?? {}), body: result.body?.data ?? '' }
    const { uri: path, querystring, headers } = result
    const text = Object.entries(querystring).flatMap(([name, { value, multiValue }]) =>
      (multiValue ?? [{ value }]).map((each) => (each.value === '' ? name : `${name}=${each.value}`)),
    )
    const set = Object.entries(headers).filter(([name, { value }]) => !Object.hasOwn(all, name) || all[name]!.value !== value)
    return { url: path + (text.length === 0 ? '' : `?${text.join('&')}`), headers: valuesOf(Object.fromEntries(set)) }
  }
}

const valuesOf = (headers: Viewed['headers']): Headers =>
  Object.fromEntries(Object.entries(headers).map(([name, { value }]) => [name, value]))

function parsed(query: string): Record<string, Value> {
  // What a name inherits is no value of it.
  const values: Record<string, Value & { multiValue: { value: string }[] }> = Object.create(null)
  for (const pair of query.split('&').filter((pair) => pair !== '')) {
    const [name, value] = pair.includes('=') ? [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)] : [pair, '']
    values[name] ??= { value, multiValue: [] }
    values[name].multiValue.push({ value })
  }
  return values
}
