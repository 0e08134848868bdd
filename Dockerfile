# The image of governd: the binary and the C library, nothing else, not even a shell.
#
#   docker build --tag governd .
#   docker run --read-only --tmpfs /tmp:exec --cap-drop ALL --security-opt no-new-privileges \
#     --publish 8443:8443 --volume governd:/var/lib/governd governd
#
# The versions of everything that goes into the binary are those of bun.lock, and building twice gives the
# same bytes. For a build that does not even trust tags, name the images by digest:
#   --build-arg BUN_IMAGE=oven/bun:1.4.5@sha256:… --build-arg BASE_IMAGE=gcr.io/distroless/cc-debian12:nonroot@sha256:…
ARG BUN_IMAGE=oven/bun:1.4.5
# glibc and libgcc, certificates of public authorities, and a user that is not root.
ARG BASE_IMAGE=gcr.io/distroless/cc-debian12:nonroot

FROM ${BUN_IMAGE} AS build
WORKDIR /src
# Apart from the source, so that a change of the source does not fetch the dependencies again.
COPY package.json bun.lock bunfig.toml ./
RUN bun install --frozen-lockfile
COPY . .
RUN bun scripts/build.ts --outfile /image/governd && mkdir /image/empty

FROM ${BASE_IMAGE}
LABEL org.opencontainers.image.title="governd" \
      org.opencontainers.image.description="A self-hosted governance daemon for software agents" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /image/governd /usr/local/bin/governd
# A fresh volume takes its owner from here.
COPY --from=build --chown=65532:65532 /image/empty /var/lib/governd
ENV GOVERND_DATA_DIR=/var/lib/governd \
    GOVERND_LISTEN=0.0.0.0:8443
USER 65532:65532
VOLUME /var/lib/governd
EXPOSE 8443
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=6s --start-period=20s --retries=3 CMD ["/usr/local/bin/governd", "health"]
ENTRYPOINT ["/usr/local/bin/governd"]
CMD ["serve"]
