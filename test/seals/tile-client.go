// A stock client of a transparency log: it reads a log as C2SP tlog-tiles with golang.org/x/mod/sumdb, and checks the
// whole tree, and the entries if it is given a key.
//
//	go run tile-client.go URL CA-FILE VERIFIER-KEY [API-KEY]
package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

const height = 8

type client struct {
	http   *http.Client
	url    string
	apiKey string
	tiles  int
}

func (c *client) get(path string) ([]byte, error) {
	request, err := http.NewRequest("GET", c.url+"/"+path, nil)
	if err != nil {
		return nil, err
	}
	if c.apiKey != "" {
		request.Header.Set("X-API-Key", c.apiKey)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != 200 {
		err = fmt.Errorf("GET %s: %s: %s", path, response.Status, body)
	}
	return body, err
}

func (c *client) Height() int { return height }

// ReadTiles reads tiles whose paths lack the height, as tlog-tiles has it.
func (c *client) ReadTiles(tiles []tlog.Tile) ([][]byte, error) {
	var found [][]byte
	for _, tile := range tiles {
		data, err := c.get(strings.Replace(tile.Path(), "tile/8/", "tile/", 1))
		if err != nil {
			return nil, err
		}
		found = append(found, data)
	}
	c.tiles += len(tiles)
	return found, nil
}

func (c *client) SaveTiles(tiles []tlog.Tile, data [][]byte) {}

func (c *client) entries(size int64, number int64) [][]byte {
	tile := tlog.Tile{H: height, L: -1, N: number, W: 1 << height}
	if rest := size - number<<height; rest < 1<<height {
		tile.W = int(rest)
	}
	bundle := must(c.get(strings.Replace(tile.Path(), "tile/8/data/", "tile/entries/", 1)))
	var all [][]byte
	for len(bundle) > 0 {
		length := int(binary.BigEndian.Uint16(bundle))
		all = append(all, bundle[2:2+length])
		bundle = bundle[2+length:]
	}
	if len(all) != tile.W {
		log.Fatalf("bundle %d has %d entries, not %d", number, len(all), tile.W)
	}
	return all
}

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

func main() {
	authorities := x509.NewCertPool()
	authorities.AppendCertsFromPEM(must(os.ReadFile(os.Args[2])))
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: authorities}}
	c := &client{http: &http.Client{Transport: transport}, url: os.Args[1]}
	if len(os.Args) > 4 {
		c.apiKey = os.Args[4]
	}
	verifier := must(note.NewVerifier(os.Args[3]))
	checkpoint := must(note.Open(must(c.get("checkpoint")), note.VerifierList(verifier)))
	lines := strings.Split(checkpoint.Text, "\n")
	size := must(strconv.ParseInt(lines[1], 10, 64))
	var root tlog.Hash
	copy(root[:], must(base64.StdEncoding.DecodeString(lines[2])))
	reader := tlog.TileHashReader(tlog.Tree{N: size, Hash: root}, c)
	if found := must(tlog.TreeHash(size, reader)); found != root {
		log.Fatal("the tiles have another root")
	}
	checked := 0
	for number := int64(0); c.apiKey != "" && number<<height < size; number++ {
		for at, entry := range c.entries(size, number) {
			leaf := must(reader.ReadHashes([]int64{tlog.StoredHashIndex(0, number<<height+int64(at))}))[0]
			if leaf != tlog.RecordHash(entry) || !bytes.HasPrefix(entry, []byte("{")) {
				log.Fatalf("entry %d of bundle %d is another one", at, number)
			}
			checked++
		}
	}
	fmt.Printf("{\"size\":%d,\"entries\":%d,\"tiles\":%d}\n", size, checked, c.tiles)
}
