/**
 * A function as a resource of a stack: it answers to an address it is given, whatever happens, or the deployment would hang.
 * https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/crpg-ref.html
 */
import { report } from './log.ts'

export type CustomResourceEvent = {
  readonly RequestType: 'Create' | 'Update' | 'Delete'
  readonly ResponseURL: string
  readonly StackId: string
  readonly RequestId: string
  readonly LogicalResourceId: string
  readonly PhysicalResourceId?: string
  /** As the template says them. */
  readonly ResourceProperties?: ResourceProperties
}

export type ResourceProperties = Readonly<Record<string, string>>

/** Its message is told to who deploys: it is about what is deployed, and never of what is stored. */
export class DeploymentError extends Error {}

/**
 * `deploy`: at creation and at each update; what it gives are the attributes of the resource. `remove`: at the deletion, which else leaves
 * everything as it is.
 */
export const customResource =
  (deploy: (properties: ResourceProperties) => Promise<unknown>, remove: () => Promise<void> = async () => undefined) =>
  async (event: CustomResourceEvent): Promise<void> => {
    const { RequestType, ResponseURL, StackId, RequestId, LogicalResourceId, PhysicalResourceId = LogicalResourceId } = event
    let answer: object
    try {
      const Data = await (RequestType === 'Delete' ? remove() : deploy(event.ResourceProperties ?? {}))
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
