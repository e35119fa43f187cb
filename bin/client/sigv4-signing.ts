/** Requests to a stage on AWS that lets in whoever signs them. */
import { type Credentials, signer } from '../../lambdas/adapters/sigv4/signer.ts'
import { readAwsIdentity } from '../../lambdas/runtime/config.ts'
import type { Authorize } from './http-post.ts'

/** Of API Gateway. https://docs.aws.amazon.com/apigateway/latest/developerguide/how-to-call-api.html */
const ADDRESS = /^[^.]+\.execute-api\.([a-z0-9-]+)\.amazonaws\.com(?:\.cn)?$/

/** Of requests to `base`; of those to anybody else nothing is said. Error where nobody says which region it is. `here`: the region of the environment, or nothing. */
export function sigv4Authorizer(base: string, here = readAwsIdentity().region, credentials?: () => Promise<Credentials>): Authorize {
  const region = ADDRESS.exec(new URL(base).hostname)?.[1] ?? here
  if (region === '') throw new Error(`${base} does not say its region: set AWS_REGION, or give the API's own address (ApiUrl)`)
  const sign = signer({ region, service: 'execute-api', ...(credentials === undefined ? {} : { credentials }) })
  const { origin } = new URL(base)
  return async (request) => (new URL(request.url).origin === origin ? sign(request) : {})
}
