/** As much of a browser as the pages need: cookies, forms, redirects to pages of the server. It does not follow where it is sent back to. */
import { BASE_URL, encodeBody, type RequestContent, type TestAuthorization, type TestResponse } from './authorization.ts'

export type HtmlForm = { readonly method: string; readonly action: string; readonly fields: readonly (readonly [string, string])[] }

const unescaped = (text: string): string => text.replace(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code)))
const attribute = (tag: string, name: string): string | undefined => {
  const [, value] = new RegExp(`\\s${name}="([^"]*)"`).exec(tag) ?? []
  return value === undefined ? undefined : unescaped(value)
}

/** Hidden fields, and boxes that are ticked. */
export const formsOf = ({ text }: TestResponse): readonly HtmlForm[] =>
  [...text.matchAll(/<form([^>]*)>([\s\S]*?)<\/form>/g)].map(([, head = '', inside = '']) => ({
    method: attribute(head, 'method')!.toUpperCase(),
    action: attribute(head, 'action')!,
    fields: [...inside.matchAll(/<input([^>]*)>/g)].flatMap(([, tag = '']) => {
      const isSent = attribute(tag, 'type') === 'hidden' || (attribute(tag, 'type') === 'checkbox' && / checked/.test(tag))
      return isSent ? [[attribute(tag, 'name')!, attribute(tag, 'value')!] as const] : []
    }),
  }))

/** `uri` and `sent`: where it is sent back to, and with what. */
export type Redirect = { readonly uri: string; readonly sent: Readonly<Record<string, string>> }

/** Whatever answers as the server does. */
export type AuthorizationServer = Pick<TestAuthorization, 'ask'>

/** Returns a server that is reached over HTTP. `base`: returns its base URL, which is known after its start. */
export const fetchedServer = (base: () => string): AuthorizationServer => ({
  async ask(method, path, { query = '', headers = {}, ...content }: RequestContent = {}): Promise<TestResponse> {
    const { headers: type, ...body } = encodeBody(content)
    const url = `${base()}${path}?${new URLSearchParams(query)}`
    const response = await fetch(url, { method, headers: { ...type, ...headers }, redirect: 'manual', ...body })
    const text = await response.text()
    return {
      status: response.status,
      headers: Object.fromEntries(response.headers),
      text,
      body: text.startsWith('{') ? JSON.parse(text) : undefined,
    }
  },
})

export function openBrowser(auth: AuthorizationServer, base = BASE_URL) {
  const cookies = new Map<string, string>()
  const visited: TestResponse[] = []

  const send = async (method: string, url: string, form?: string): Promise<TestResponse> => {
    const { pathname, search } = new URL(url)
    const path = pathname.slice(new URL(base).pathname.length)
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const headers = cookie === '' ? {} : { cookie }
    const answer = await auth.ask(method, path, { query: search.slice(1), headers, ...(form === undefined ? {} : { form }) })
    const [, name, value] = /^([^=]+)=([^;]*)/.exec(answer.headers['set-cookie'] ?? '') ?? []
    if (name !== undefined) cookies.set(name, value!)
    visited.push(answer)
    const { location } = answer.headers
    return answer.status === 303 && location!.startsWith(base) ? send('GET', location!) : answer
  }

  return {
    cookies,
    visited,
    open: (path: string, query: Readonly<Record<string, string>> | string = '') =>
      send('GET', `${base}${path}?${new URLSearchParams(query)}`),
    /** `fields`: what is typed or chosen; undefined: a box that is no longer ticked. */
    submit(
      answer: TestResponse,
      fields: readonly (readonly [string, string])[] = [],
      which = 0,
      without: readonly string[] = [],
    ): Promise<TestResponse> {
      const { method, action, fields: own } = formsOf(answer)[which]!
      const sent = new URLSearchParams(
        [...own.filter(([, value]) => !without.includes(value)), ...fields].map(([a, b]) => [a, b] as [string, string]),
      ).toString()
      return method === 'GET' ? send('GET', `${action.split('?')[0]}?${sent}`) : send('POST', action, sent)
    },
  }
}

export type Browser = ReturnType<typeof openBrowser>

export function redirectOf({ status, headers }: TestResponse): Redirect {
  if (status !== 303) throw new Error(`not sent back, but ${status}`)
  const [uri = '', query] = headers.location!.split('?')
  return { uri, sent: Object.fromEntries(new URLSearchParams(query)) }
}

export const logIn = (user: Browser, page: TestResponse, name: string, password = `password-of-${name}`): Promise<TestResponse> =>
  user.submit(page, [
    ['username', name],
    ['password', password],
  ])

export const allowAccess = (user: Browser, page: TestResponse, without: readonly string[] = []): Promise<TestResponse> =>
  user.submit(page, [['decision', 'allow']], 0, without)
