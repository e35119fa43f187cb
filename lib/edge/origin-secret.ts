/**
 * Secret that CloudFront sends to the API. The API answers no other sender, so it can trust the client address that CloudFront reports. No
 * template contains the secret: both sides receive it through a dynamic reference.
 * https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/dynamic-references-secretsmanager.html
 */
import { type IKey, Key } from 'aws-cdk-lib/aws-kms'
import { Secret } from 'aws-cdk-lib/aws-secretsmanager'
import { Construct } from 'constructs'

export const ORIGIN_SECRET_HEADER = 'x-origin-secret'

const LENGTH = 64

export class OriginSecret extends Construct {
  readonly sent: string
  /**
   * Secrets that the API accepts: the current and the previous one. After a change CloudFront still sends the previous one for some
   * minutes.
   */
  readonly accepted: readonly string[]

  /** `number`: number of the current secret, from 1. The next number creates another secret. */
  constructor(scope: Construct, id: string, number: number, key: IKey) {
    super(scope, id)
    // Importing the key keeps its policy unchanged. The user who deploys may use the key through policies of the account.
    const encryptionKey = Key.fromKeyArn(this, 'Key', key.keyArn)
    this.accepted = [number, number - 1].filter((each) => each > 0).map((each) => this.#secret(each, encryptionKey))
    this.sent = this.accepted[0]!
  }

  #secret(number: number, encryptionKey: IKey): string {
    const secret = new Secret(this, `Secret${number}`, {
      description: 'FHIR server: by which the API knows CloudFront',
      encryptionKey,
      generateSecretString: { passwordLength: LENGTH, excludePunctuation: true },
    })
    return secret.secretValue.unsafeUnwrap()
  }
}
