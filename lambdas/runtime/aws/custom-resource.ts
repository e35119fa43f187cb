/**
 * Custom resource of a CloudFormation stack, implemented by a Lambda function. It reports failures too, because the deployment waits until
 * a response arrives at ResponseURL. https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/crpg-ref.html
 */
import { report } from './log.ts'

export type CustomResourceEvent = {
  readonly RequestType: 'Create' | 'Update' | 'Delete'
  readonly ResponseURL: string
  readonly StackId: string
  readonly RequestId: string
  readonly LogicalResourceId: string
  readonly PhysicalResourceId?: string
  /** Properties from the template. CloudFormation passes all values as strings. */
  readonly ResourceProperties?: ResourceProperties
  /** Properties of the previous deployment. Present for `Update` only. */
  readonly OldResourceProperties?: ResourceProperties
}

export type ResourceProperties = Readonly<Record<string, string>>

/** Failure whose message CloudFormation shows to the operator. The message describes the deployment and never contains stored content. */
export class DeploymentError extends Error {}

/**
 * Returns the handler of a custom resource. `deploy`: runs when the resource is created or updated, and returns its attributes. `before`:
 * properties of the previous deployment, absent for the first one. `remove`: runs when it is deleted. Without `remove` a deletion does nothing.
 */
export const customResource =
  (
    deploy: (properties: ResourceProperties, before?: ResourceProperties) => Promise<unknown>,
    remove: () => Promise<void> = async () => undefined,
  ) =>
  async (event: CustomResourceEvent): Promise<void> => {
    const { RequestType, ResponseURL, StackId, RequestId, LogicalResourceId, PhysicalResourceId = LogicalResourceId } = event
    let answer: object
    try {
      const Data = await (RequestType === 'Delete' ? remove() : deploy(event.ResourceProperties ?? {}, event.OldResourceProperties))
      answer = { Status: 'SUCCESS', ...(Data === undefined ? {} : { Data }) }
    } catch (error) {
      report(error, RequestId)
      answer = {
        Status: 'FAILED',
        Reason: error instanceof DeploymentError ? error.message : `${(error as Error).name}: see the log of the function`,
      }
    }
    const body = JSON.stringify({ ...answer, StackId, RequestId, LogicalResourceId, PhysicalResourceId })
    await fetch(ResponseURL, { method: 'PUT', body, headers: { 'content-type': '' } })
  }
