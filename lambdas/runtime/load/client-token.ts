/** An access token for a registered client that has a secret. Specification 5.2; https://www.rfc-editor.org/rfc/rfc6749#section-4.4 */

type Answer = { readonly access_token?: unknown; readonly token_endpoint?: unknown; readonly error_description?: unknown }

/** `base`: of the FHIR server, without a slash at the end. Error that says what the server said. */
export async function clientToken(base: string, client: string, secret: string): Promise<string> {
  const discovery = `${base}/.well-known/smart-configuration`
  const { token_endpoint } = await answerOf(discovery, await fetch(discovery, { headers: { accept: 'application/json' } }))
  if (typeof token_endpoint !== 'string' || new URL(token_endpoint).origin !== new URL(base).origin)
    throw new Error(`${discovery} names no token endpoint of this server`)
  const body = new URLSearchParams({
    grant_type: 'client_credentials',
    client_id: client,
    client_secret: secret,
    // What the client is not registered for is left out.
    scope: 'system/*.cruds system/admin',
  })
  const { access_token } = await answerOf(token_endpoint, await fetch(token_endpoint, { method: 'POST', body, redirect: 'error' }))
  if (typeof access_token !== 'string') throw new Error(`${token_endpoint} gives no token`)
  return access_token
}

async function answerOf(url: string, response: Response): Promise<Answer> {
  const answer = (await response.json().catch(() => ({}))) as Answer
  if (response.ok) return answer
  throw new Error(`${url} answers ${response.status}: ${String(answer.error_description ?? 'without a reason')}`)
}
