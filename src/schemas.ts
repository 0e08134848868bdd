/** Parts that several schemas share. */
import { type TProperties, type TSchema, Type } from "@sinclair/typebox";

export const Count = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });
/** The id of a workspace, as files of governd have it. */
export const StoredWorkspaceId = Type.String({ pattern: "^ws_[0-7][0-9a-hjkmnp-tv-z]{25}$" });
export const Hash = Type.String({ pattern: "^[0-9a-f]{64}$" });

/** An object with no other members than these. */
export const only = <Members extends TProperties>(members: Members) =>
  Type.Object(members, { additionalProperties: false });

export const orNull = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Type.Null()]);
