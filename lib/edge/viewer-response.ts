/** Code that the CloudFront functions share, in CloudFront's JavaScript. */

/** Source of `refused(status, outcome)`, which returns a response instead of the request. */
export const REFUSED_FUNCTION_CODE = `\
function refused(status, outcome) {
  return {
    statusCode: status,
    headers: { 'content-type': { value: 'application/fhir+json; charset=utf-8' }, 'cache-control': { value: 'no-store' } },
    body: { encoding: 'text', data: outcome }
  }
}
`
