/** Permissions for the keys in KMS that sign tokens. */
import { Stack } from 'aws-cdk-lib'
import type { PolicyStatement } from 'aws-cdk-lib/aws-iam'
import { type AwsResources, allow } from './permissions.ts'

/** Actions on signing keys, except creating them and signing. */
const KEY_MAINTENANCE = ['kms:CreateAlias', 'kms:GetPublicKey', 'kms:ListResourceTags', 'kms:DescribeKey', 'kms:ScheduleKeyDeletion']

/** Tag that identifies the keys of a stage in KMS. */
const STAGE_TAG = 'fhir-stage'

/** Permits actions on keys with the tag of the stage only. Other keys of the account stay out of reach. */
export const allowOnSigningKeys = (aws: AwsResources, actions: string[]): PolicyStatement =>
  allow(actions, [kmsArn(aws, 'key')], { StringEquals: { [`aws:ResourceTag/${STAGE_TAG}`]: aws.stage } })

const kmsArn = ({ stateTable }: AwsResources, resource: 'key' | 'alias', resourceName = '*'): string =>
  Stack.of(stateTable).formatArn({ service: 'kms', resource, resourceName })

/**
 * Permits creating keys with the tag of the stage, tagging and naming them. A key with another stage's tag cannot get this one.
 * https://docs.aws.amazon.com/kms/latest/developerguide/tag-permissions.html
 */
const allowSigningKeyCreation = (aws: AwsResources): readonly PolicyStatement[] => {
  const tagged = { StringEquals: { [`aws:RequestTag/${STAGE_TAG}`]: aws.stage } }
  const signing = { 'kms:KeySpec': 'RSA_2048', 'kms:KeyUsage': 'SIGN_VERIFY' }
  return [
    allow(['kms:CreateAlias'], [kmsArn(aws, 'alias', `fhir-${aws.stage}/signing/*`)]),
    allow(['kms:CreateKey'], ['*'], { StringEquals: { ...tagged.StringEquals, ...signing } }),
    allow(['kms:TagResource'], [kmsArn(aws, 'key')], {
      ...tagged,
      StringEqualsIfExists: { ...signing, [`aws:ResourceTag/${STAGE_TAG}`]: aws.stage },
    }),
  ]
}

/** Permits listing, creating and removing the keys of the stage, but not signing. */
export const allowSigningKeyMaintenance = (aws: AwsResources): readonly PolicyStatement[] => [
  allowOnSigningKeys(aws, KEY_MAINTENANCE),
  allow(['kms:ListAliases'], ['*']),
  ...allowSigningKeyCreation(aws),
]
