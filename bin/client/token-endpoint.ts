/** Finds the token endpoint of a server and requests tokens from it. https://hl7.org/fhir/smart-app-launch/conformance.html */

/** A refusal by the server that a retry does not change. Other failures, such as 429 and 5xx, are plain Errors. */
export class TokenRequestError extends Error {}

/** Returns the URL of the token endpoint. `base`: FHIR base URL without a trailing slash. Throws if the server names none. */
export async function tokenEndpointOf(base: string): Promise<string> {
  const discovery = `${base}/.well-known/smart-configuration`
  const { token_endpoint } = await answerOf(discovery, await fetch(discovery, { headers: { accept: 'application/json' } }))
  if (typeof token_endpoint === 'string' && URL.canParse(token_endpoint)) return token_endpoint
  throw new TokenRequestError(`${discovery} names no token endpoint`)
}

/**
 * Requests an access token by client credentials. Throws with the server's reason if the server refuses.
 * https://www.rfc-editor.org/rfc/rfc6749#section-4.4.2
 */
export async function requestToken(endpoint: string, form: Readonly<Record<string, string>>): Promise<string> {
  const body = new URLSearchParams({ grant_type: 'client_credentials', ...form })
  const { access_token } = await answerOf(endpoint, await fetch(endpoint, { method: 'POST', body, redirect: 'error' }))
  if (typeof access_token === 'string') return access_token
  throw new TokenRequestError(`${endpoint} gives no token`)
}

type Answer = { readonly access_token?: unknown; readonly token_endpoint?: unknown; readonly error_description?: unknown }

async function answerOf(url: string, response: Response): Promise<Answer> {
  const answer = (await response.json().catch(() => ({}))) as Answer
  if (response.ok) return answer
  const { status } = response
  const Fault = status < 500 && status !== 429 ? TokenRequestError : Error
  throw new Fault(`${url} answers ${status}: ${String(answer.error_description ?? 'without a reason')}`)
}
