/** Signs requests to a stage on AWS that requires AWS Signature Version 4 instead of a token. */
import { type Credentials, signer } from '../../lambdas/adapters/sigv4/signer.ts'
import { readAwsIdentity } from '../../lambdas/runtime/config.ts'
import type { Authorize } from './http-post.ts'

/**
 * Host names of API Gateway, which contain the region. https://docs.aws.amazon.com/apigateway/latest/developerguide/how-to-call-api.html
 */
const ADDRESS = /^[^.]+\.execute-api\.([a-z0-9-]+)\.amazonaws\.com(?:\.cn)?$/

/**
 * Creates an authorizer that signs requests to the origin of `base` and no others. `defaultRegion`: region of the environment, or empty.
 * Throws if neither the URL nor `defaultRegion` names a region.
 */
export function sigv4Authorizer(
  base: string,
  defaultRegion = readAwsIdentity().region,
  credentials?: () => Promise<Credentials>,
): Authorize {
  const region = ADDRESS.exec(new URL(base).hostname)?.[1] ?? defaultRegion
  if (region === '') throw new Error(`${base} does not say its region: set AWS_REGION, or give the API's own address (ApiUrl)`)
  const sign = signer({ region, service: 'execute-api', ...(credentials === undefined ? {} : { credentials }) })
  const { origin } = new URL(base)
  return async (request) => (new URL(request.url).origin === origin ? sign(request) : {})
}
