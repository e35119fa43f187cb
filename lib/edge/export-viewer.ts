/**
 * Function that CloudFront runs before it sends an export file. The link is the proof of access. If the request also has an access token,
 * it must belong to the client, and to the user, that received the link. The function does not verify the token: without a token the link
 * would open the file as well.
 */
import { toOutcomeJson } from './gateway-errors.ts'
import { refusedFunctionCode } from './viewer-response.ts'

/** Name of the claim that identifies the client, by external `issuer`. Clients of these issuers have names like `app@auth.example.org`. */
export type ClientClaimNames = Readonly<Record<string, string>>

/**
 * Returns the source of the function in CloudFront's JavaScript.
 * https://docs.aws.amazon.com/AmazonCloudFront/latest/DeveloperGuide/functions-javascript-runtime-20.html
 */
export const exportViewerCodeOf = (others: ClientClaimNames): string =>
  `
${refusedFunctionCode()}var others = ${JSON.stringify(others)}
function namesOf(token) {
  try {
    var claims = JSON.parse(Buffer.from(token.split('.')[1], 'base64url').toString())
    var claim = others[claims.iss]
    var named = function (value) {
      return claim && value ? value + '@' + claims.iss.replace('https://', '') : value
    }
    return { client: named(claims[claim || 'client_id']), user: named(claims.sub) }
  } catch (error) {
    return {}
  }
}
function isOnly(parameter, value) {
  return parameter && (!parameter.multiValue || parameter.multiValue.length === 1) && decoded(parameter.value) === value
}
function decoded(text) {
  try {
    return decodeURIComponent(text)
  } catch (error) {
    return text
  }
}
function handler(event) {
  var request = event.request
  var authorization = request.headers.authorization
  var bearer = authorization && /^bearer +(\\S+) *$/i.exec(authorization.value)
  if (!bearer) return request
  var names = namesOf(bearer[1])
  var query = request.querystring
  if (isOnly(query.client, names.client) && (!query.user || isOnly(query.user, names.user))) return request
  return refused(403, '${toOutcomeJson('forbidden', 'The link was given to another client or user')}')
}
`.trim()
