/** Code that the CloudFront functions share, in CloudFront's JavaScript. */

/**
 * Returns the source of `refused(status, outcome)`, which returns a response instead of the request. `origin`: origin that may read the
 * response in a browser, or `*` for all.
 */
export const refusedFunctionCode = (origin?: string): string => `\
function refused(status, outcome) {
  return {
    statusCode: status,
    headers: { 'content-type': { value: 'application/fhir+json; charset=utf-8' }, 'cache-control': { value: 'no-store' }${originHeader(origin)} },
    body: { encoding: 'text', data: outcome }
  }
}
`

const originHeader = (origin: string | undefined): string =>
  origin === undefined ? '' : `, 'access-control-allow-origin': { value: ${JSON.stringify(origin)} }`
