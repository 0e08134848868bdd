/** Lists that are short enough to be answered whole. */
import { type TSchema, Type as t } from "@sinclair/typebox";
import type { JsonObject } from "../../json.ts";
import { closed } from "../shapes.ts";

export const plainList = (item: TSchema) => t.Object({ data: t.Array(item) }, closed);

export const listBody = (data: JsonObject[]): JsonObject => ({ data });
